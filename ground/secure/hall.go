package secure

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// HandshakesMax is how many connections of one port may be in its hall.
const HandshakesMax = 512

// Hall holds the connections whose handshake is under way. When it is full, each new connection
// displaces one: the oldest of the address that has the most connections here. The handshake of a
// node or a client takes some round trips. A stranger that only occupies places loses them, and
// takes none from other addresses. The zero value of Hall is ready for use.
type Hall struct {
	mu      sync.Mutex // guards waiting, places, and each Guest
	waiting list.List  // of *Guest, the oldest first
	// places is the number of guests of each address.
	places map[string]int
}

// Guest is a connection in the hall.
type Guest struct {
	hall *Hall
	conn net.Conn
	from string
	// place is its place in the hall. It is nil if the guest has left or was displaced.
	place  *list.Element
	pushed bool
}

// These are the errors of handshakes, in addition to those of TLS itself.
var (
	errNoTLS = errors.New("it does not speak TLS")
	errSlow  = errors.New("it did not end its TLS handshake in time")
	// ErrPushed: the connection had to leave a full hall.
	ErrPushed = errors.New("too many handshakes are under way, and this one was the oldest")
	errLeft   = errors.New("it went away in the middle of its TLS handshake")
)

// Shaker is a TLS connection of crypto/tls.
type Shaker interface {
	HandshakeContext(ctx context.Context) error
	// NetConn is the connection underneath.
	NetConn() net.Conn
}

// Handshake does the accepting side's handshake in the hall, within patience. Afterwards the
// connection has no deadline.
func (h *Hall) Handshake(ctx context.Context, conn Shaker, patience time.Duration) error {
	guest := h.Enter(conn.NetConn())
	err := Handshake(ctx, conn, patience)
	if guest.Leave() && err != nil {
		err = ErrPushed
	}
	return err
}

// Handshake does the accepting side's handshake, within patience. Afterwards the connection has no
// deadline.
func Handshake(ctx context.Context, conn Shaker, patience time.Duration) error {
	raw := conn.NetConn()
	_ = raw.SetDeadline(time.Now().Add(patience))
	if err := conn.HandshakeContext(ctx); err != nil {
		return inWords(err)
	}
	return raw.SetDeadline(time.Time{})
}

// Len is how many connections are in the hall.
func (h *Hall) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting.Len()
}

// Enter adds a connection to the hall. The caller must call Leave.
func (h *Hall) Enter(conn net.Conn) *Guest {
	g := &Guest{hall: h, conn: conn, from: hostOf(conn)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.places == nil {
		h.places = map[string]int{}
	}
	if h.waiting.Len() >= HandshakesMax {
		oldest := h.crowder()
		oldest.pushed = true
		oldest.leave()
		oldest.conn.Close()
	}
	g.place = h.waiting.PushBack(g)
	h.places[g.from]++
	return g
}

// crowder returns the oldest guest of the address that has the most. h.mu must be held.
func (h *Hall) crowder() *Guest {
	var found *Guest
	for e := h.waiting.Front(); e != nil; e = e.Next() {
		if g := e.Value.(*Guest); found == nil || h.places[g.from] > h.places[found.from] {
			found = g
		}
	}
	return found
}

// Leave ends the stay in the hall. It reports whether the connection was displaced and closed
// before.
func (g *Guest) Leave() (pushed bool) {
	g.hall.mu.Lock()
	defer g.hall.mu.Unlock()
	g.leave()
	return g.pushed
}

// leave frees the guest's place. The caller holds the hall's lock.
func (g *Guest) leave() {
	if g.place == nil {
		return
	}
	g.hall.waiting.Remove(g.place)
	g.place = nil
	if g.hall.places[g.from]--; g.hall.places[g.from] == 0 {
		delete(g.hall.places, g.from)
	}
}

// hostOf is the address that a connection comes from, without the port.
func hostOf(conn net.Conn) string {
	addr := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// inWords returns the error in words for readers of the log.
func inWords(err error) error {
	var header tls.RecordHeaderError
	switch {
	case errors.As(err, &header):
		return errNoTLS
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlow
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return errLeft
	}
	return fmt.Errorf("the TLS handshake failed: %w", err)
}

// SpeaksTLS reports whether the first bytes of a connection are a TLS handshake.
func SpeaksTLS(first []byte) bool {
	const handshake, major, minorMax = 22, 3, 4
	return len(first) >= 3 && first[0] == handshake && first[1] == major && first[2] <= minorMax
}
