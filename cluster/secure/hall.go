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

// HandshakesMax is how many handshakes of one port may be under way.
const HandshakesMax = 512

// Hall is where connections are whose handshake is under way. When it is full
// the one that has been there longest has to go: who means it is through within
// some round trips, who only holds places does not get to keep them. Its zero
// value is ready.
type Hall struct {
	mu      sync.Mutex
	waiting list.List // of *guest, the oldest first
}

type guest struct {
	conn   net.Conn
	pushed bool
}

// Errors of handshakes, beside those of TLS itself.
var (
	errNoTLS  = errors.New("it does not speak TLS")
	errSlow   = errors.New("it did not end its TLS handshake in time")
	errPushed = errors.New("too many TLS handshakes are under way, and this one was the oldest")
	errLeft   = errors.New("it went away in the middle of its TLS handshake")
)

// Shaker is a connection under TLS, as crypto/tls has it.
type Shaker interface {
	HandshakeContext(ctx context.Context) error
	// NetConn is the connection underneath.
	NetConn() net.Conn
}

// Handshake does the accepting side's handshake, within patience. The
// connection has no deadline afterwards.
func (h *Hall) Handshake(ctx context.Context, conn Shaker, patience time.Duration) error {
	raw := conn.NetConn()
	place := h.enter(raw)
	_ = raw.SetDeadline(time.Now().Add(patience))
	err := conn.HandshakeContext(ctx)
	if h.leave(place) && err != nil {
		err = errPushed
	}
	if err != nil {
		return inWords(err)
	}
	return raw.SetDeadline(time.Time{})
}

// Len is how many handshakes are under way.
func (h *Hall) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting.Len()
}

func (h *Hall) enter(conn net.Conn) *list.Element {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting.Len() >= HandshakesMax {
		oldest := h.waiting.Remove(h.waiting.Front()).(*guest)
		oldest.pushed = true
		oldest.conn.Close()
	}
	return h.waiting.PushBack(&guest{conn: conn})
}

// leave tells whether the connection had been pushed out.
func (h *Hall) leave(place *list.Element) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := place.Value.(*guest)
	if !g.pushed {
		h.waiting.Remove(place)
	}
	return g.pushed
}

// inWords says what went wrong to who reads the log.
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

// SpeaksTLS tells whether what a connection says first is a TLS handshake.
func SpeaksTLS(first []byte) bool {
	const handshake, major, minorMax = 22, 3, 4
	return len(first) >= 3 && first[0] == handshake && first[1] == major && first[2] <= minorMax
}
