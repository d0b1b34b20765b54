package transport

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Kinds of connections.
const (
	streamRequests uint8 = 1
	streamRaft     uint8 = 2
)

// preface is what the dialling side sends after the handshake:
//
//	kind u8, group u32, cluster id, node id, target: u8 length and text each
//
// The other side answers with its verdict: u8 length and text; an empty text accepts the
// connection.
type preface struct {
	kind              uint8
	group             uint32
	clusterID, nodeID string
	// target is the id of the node that should answer; "" if only its address is known.
	target string
}

func (p *preface) append(dst []byte) []byte {
	dst = append(dst, p.kind)
	dst = binary.LittleEndian.AppendUint32(dst, p.group)
	for _, s := range []string{p.clusterID, p.nodeID, p.target} {
		dst = appendShort(dst, s)
	}
	return dst
}

func readPreface(r io.Reader) (preface, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return preface{}, err
	}
	p := preface{kind: head[0], group: binary.LittleEndian.Uint32(head[1:])}
	if p.kind != streamRequests && p.kind != streamRaft {
		return preface{}, fmt.Errorf("unknown kind of connection %d", p.kind)
	}
	for _, s := range []*string{&p.clusterID, &p.nodeID, &p.target} {
		var err error
		if *s, err = readShort(r); err != nil {
			return preface{}, err
		}
	}
	return p, nil
}

func appendShort(dst []byte, s string) []byte {
	s = s[:min(len(s), 255)]
	return append(append(dst, byte(len(s))), s...)
}

func readShort(r io.Reader) (string, error) {
	var n [1]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return "", err
	}
	buf := make([]byte, n[0])
	_, err := io.ReadFull(r, buf)
	return string(buf), err
}

// writeVerdict answers a preface. An empty reason accepts the connection.
func writeVerdict(w io.Writer, reason string) error {
	_, err := w.Write(appendShort(nil, reason))
	return err
}

// Target returns the address of a node whose id is known. A dial to it fails if another node
// answers there.
func Target(id, addr string) string { return id + "@" + addr }

// SplitTarget splits an address that Target made; id is "" for a plain address.
func SplitTarget(target string) (id, addr string) {
	if i := strings.LastIndexByte(target, '@'); i >= 0 {
		return target[:i], target[i+1:]
	}
	return "", target
}

// dial connects to a peer and introduces this node. It ends when ctx ends.
func (t *Transport) dial(ctx context.Context, target string, p preface, timeout time.Duration) (net.Conn, error) {
	id, addr := SplitTarget(target)
	addr = t.addressOf(id, addr)
	p.clusterID, p.nodeID, p.target = t.cfg.ClusterID(), t.cfg.NodeID, id
	conn, err := t.dialAddr(ctx, addr, p, timeout)
	if err != nil {
		t.forgetAddress(id, addr)
	}
	return conn, err
}

func (t *Transport) dialAddr(ctx context.Context, addr string, p preface, timeout time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: min(timeout, dialTimeout)}
	bare, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { bare.Close() })
	defer stop()
	tune(bare)
	_ = bare.SetDeadline(time.Now().Add(t.pace.preface))
	conn, err := t.dialSecurely(ctx, bare, addr)
	if err != nil {
		return nil, err
	}
	if conn, err = t.dialProof(conn, &p); err != nil {
		return nil, err
	}
	if _, err := conn.Write(p.append(nil)); err != nil {
		conn.Close()
		return nil, err
	}
	reason, err := readShort(conn)
	if err == nil && reason != "" {
		err = fmt.Errorf("%w: %s", ErrRefused, reason)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, nil
}

const (
	keepAlivePeriod = 3 * time.Second
	keepAliveProbes = 3
	// deadPeerTimeout is how long written bytes may stay unacknowledged.
	deadPeerTimeout = 10 * time.Second
)

// tune makes the kernel detect a dead machine within seconds: by keepalives if the connection is
// idle, by the user timeout if bytes are under way.
func tune(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepAlivePeriod, Interval: keepAlivePeriod, Count: keepAliveProbes})
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { setUserTimeout(fd, deadPeerTimeout) })
}
