package ring

import (
	"io"
	"net"
	"time"

	"lockstep/cluster/secret"
)

// handshakeWait bounds one handshake of a proxy.
const handshakeWait = 10 * time.Second

// Preface is what a node says first behind its handshake.
type Preface struct {
	// From is the id of the node that has dialled.
	From string
	// bytes are the whole preface, as it came.
	bytes []byte
}

// Meet takes a connection that a node has made to a proxy, as the node behind the proxy
// would, and hears its preface. What is read from conn afterwards is in the clear.
func (r *Ring) Meet(from net.Conn) (conn net.Conn, p Preface, err error) {
	_ = from.SetDeadline(time.Now().Add(handshakeWait))
	conn, err = secret.Accept(from, r.Known(), false, nil)
	if err != nil {
		return nil, Preface{}, err
	}
	p, err = readPreface(conn)
	_ = from.SetDeadline(time.Time{})
	return conn, p, err
}

// Reach goes on with a connection that a proxy has made to the node behind it: it proves
// the secret, and says the preface that the proxy has heard.
func (r *Ring) Reach(to net.Conn, p Preface) (conn net.Conn, err error) {
	_ = to.SetDeadline(time.Now().Add(handshakeWait))
	conn, err = secret.Dial(to, r.Known(), nil)
	if err != nil {
		return nil, err
	}
	_, err = conn.Write(p.bytes)
	_ = to.SetDeadline(time.Time{})
	return conn, err
}

// readPreface reads a kind and a group, five bytes, and three texts behind their lengths:
// the cluster, the node that dials, and the node that it means.
func readPreface(r io.Reader) (Preface, error) {
	p := Preface{bytes: make([]byte, 5)}
	if _, err := io.ReadFull(r, p.bytes); err != nil {
		return p, err
	}
	for i := range 3 {
		at := len(p.bytes)
		p.bytes = append(p.bytes, 0)
		if _, err := io.ReadFull(r, p.bytes[at:]); err != nil {
			return p, err
		}
		text := make([]byte, p.bytes[at])
		if _, err := io.ReadFull(r, text); err != nil {
			return p, err
		}
		if i == 1 {
			p.From = string(text)
		}
		p.bytes = append(p.bytes, text...)
	}
	return p, nil
}
