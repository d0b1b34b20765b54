package ring

import (
	"io"
	"net"
	"time"

	"lockstep/cluster/secret"
)

// handshakeWait bounds one handshake of a proxy.
const handshakeWait = 10 * time.Second

// Preface is what a node sends first after its handshake.
type Preface struct {
	// From is the id of the node that dialled.
	From string
	// bytes are the bytes of the whole preface as received.
	bytes []byte
}

// Meet accepts a connection from a node to a proxy, as the node behind the proxy would, and reads
// its preface. Later reads from conn return plain text.
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

// Reach continues on a connection from a proxy to the node behind it: it proves the secret, and
// sends the preface that the proxy has received.
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

// readPreface reads a kind and a group, five bytes, and three texts, each after its length: the
// cluster, the node that dials, and the node that is dialled.
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
