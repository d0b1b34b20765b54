package resp

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// Sealed is a client's connection under TLS. Once the handshake is done TLS writes to memory
// only, never to the socket. The guard sends the encrypted bytes as it sends plain replies:
// without waiting, in one write, and within the same bounds. Messages of TLS itself (an
// answer to a change of keys) are sent before the next reply.
type Sealed struct {
	*tls.Conn
	raw net.Conn
	box *box
}

// Seal puts an accepted connection under TLS. The caller does the handshake, and then calls
// Begin.
func Seal(raw net.Conn, cfg *tls.Config) *Sealed {
	b := &box{Conn: raw}
	return &Sealed{Conn: tls.Server(b, cfg), raw: raw, box: b}
}

// Begin is called after the handshake. From then on TLS does not write to the socket.
func (s *Sealed) Begin() {
	s.box.mu.Lock()
	s.box.holding = true
	s.box.mu.Unlock()
}

// NetConn is the connection underneath.
func (s *Sealed) NetConn() net.Conn { return s.raw }

// Close closes the socket. Finish sends the message that ends the TLS connection.
func (s *Sealed) Close() error { return s.raw.Close() }

// heldMax bounds the messages of TLS itself between two replies.
const heldMax = 64 << 10

// sealBytes is how much is encrypted at once, and sealedKept how large a buffer
// is kept for it.
const (
	sealBytes  = 128 << 10
	sealedKept = 16 << 10
)

// seal encrypts p. The caller must return the result with done.
func (s *Sealed) seal(p []byte) ([]byte, error) {
	s.box.fill(true)
	_, err := s.Conn.Write(p)
	s.box.fill(false)
	return s.box.take(), err
}

// goodbye is the message that properly ends a TLS connection.
func (s *Sealed) goodbye() []byte {
	_ = s.CloseWrite()
	return s.box.take()
}

// done takes back a buffer of seal or goodbye.
func (s *Sealed) done(buf []byte) {
	if cap(buf) <= sealedKept {
		s.box.mu.Lock()
		s.box.spare = buf[:0]
		s.box.mu.Unlock()
	}
}

// box is the socket as TLS sees it. No other lock is taken while its lock is held,
// because the goroutine that reads may make TLS write.
type box struct {
	net.Conn
	mu sync.Mutex // guards the fields below
	// While holding is true, the bytes that TLS writes stay in held. While filling is true, they
	// are a reply, of any length.
	holding, filling bool
	held, spare      []byte
}

var errHeld = errors.New("too many messages of TLS without a reply")

// Write implements net.Conn.
func (b *box) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.holding {
		return b.Conn.Write(p)
	}
	if !b.filling && len(b.held)+len(p) > heldMax {
		return 0, errHeld
	}
	b.held = append(b.held, p...)
	return len(p), nil
}

// SetWriteDeadline implements net.Conn. After Begin the deadline of the socket belongs to the
// guard.
func (b *box) SetWriteDeadline(t time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.holding {
		return nil
	}
	return b.Conn.SetWriteDeadline(t)
}

func (b *box) fill(yes bool) {
	b.mu.Lock()
	b.filling = yes
	b.mu.Unlock()
}

func (b *box) take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held
	b.held, b.spare = b.spare[:0], nil
	return held
}
