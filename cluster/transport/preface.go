package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Kinds of connections.
const (
	streamRequests uint8 = 1
	streamRaft     uint8 = 2
)

// prefaceMagic begins every connection; its last byte is the protocol's
// version.
const prefaceMagic = "LSP\x01"

// preface is what the dialling side says first:
//
//	magic, kind u8, group u32, cluster id (u8 length), node id (u8 length)
type preface struct {
	kind              uint8
	group             uint32
	clusterID, nodeID string
}

func (p *preface) append(dst []byte) []byte {
	dst = append(dst, prefaceMagic...)
	dst = append(dst, p.kind)
	dst = binary.LittleEndian.AppendUint32(dst, p.group)
	for _, s := range []string{p.clusterID, p.nodeID} {
		s = s[:min(len(s), 255)]
		dst = append(append(dst, byte(len(s))), s...)
	}
	return dst
}

func readPreface(r io.Reader) (preface, error) {
	var head [len(prefaceMagic) + 5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return preface{}, err
	}
	if string(head[:4]) != prefaceMagic {
		return preface{}, errors.New("not a lockstep peer, or another version of its protocol")
	}
	p := preface{kind: head[4], group: binary.LittleEndian.Uint32(head[5:])}
	if p.kind != streamRequests && p.kind != streamRaft {
		return preface{}, fmt.Errorf("unknown kind of connection %d", p.kind)
	}
	var err error
	if p.clusterID, err = readShort(r); err != nil {
		return preface{}, err
	}
	p.nodeID, err = readShort(r)
	return p, err
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

// writeVerdict answers a preface: an empty reason lets the connection in.
func writeVerdict(w io.Writer, reason string) error {
	reason = reason[:min(len(reason), 255)]
	_, err := w.Write(append([]byte{byte(len(reason))}, reason...))
	return err
}

// dial connects to a peer and introduces this node.
func (t *Transport) dial(addr string, p preface, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, min(timeout, dialTimeout))
	if err != nil {
		return nil, err
	}
	tune(conn)
	_ = conn.SetDeadline(time.Now().Add(prefaceTimeout))
	p.clusterID, p.nodeID = t.cfg.ClusterID(), t.cfg.NodeID
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

// tune makes a dead peer known within seconds: by keepalives on an idle
// connection, by the kernel's user timeout on one with bytes under way.
func tune(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepAlivePeriod, Interval: keepAlivePeriod, Count: 3})
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeerTimeout.Milliseconds()))
	})
}
