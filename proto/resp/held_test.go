package resp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/proto/poll"
)

// socket is a valve that also implements TryWrite. It records the pieces that were written.
type socket struct {
	*valve
	pieces []string
}

func (s *socket) TryWrite(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errShut
	}
	n := min(len(p), s.room)
	if n == 0 {
		return 0, poll.ErrNothing
	}
	s.pieces = append(s.pieces, string(p[:n]))
	s.taken = append(s.taken, p[:n]...)
	s.room -= n
	return n, nil
}

func socketGuard(l Limits, room int) (*Guard, *socket) {
	s := &socket{valve: newValve()}
	s.room = room
	return NewGuard(s, func() Limits { return l }, new(Traffic)), s
}

func send(t *testing.T, g *Guard, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := g.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *socket) took(t *testing.T, want ...string) {
	t.Helper()
	if got := fmt.Sprintf("%.20q", s.pieces); got != fmt.Sprintf("%.20q", want) {
		t.Errorf("written: %s, not %.20q", got, want)
	}
	s.pieces = nil
}

// The bytes that are written between Hold and Release go out in one piece and in order, together
// with the messages of WriteLater.
func TestWhatIsHeldGoesOutInOnePiece(t *testing.T) {
	g, s := socketGuard(testLimits(), 1<<20)
	for range 3 {
		g.Hold()
		send(t, g, "a", "b")
		if kick, err := g.WriteLater([]byte("c")); kick || err != nil {
			t.Error(kick, err)
		}
		send(t, g, "d")
		s.took(t)
		g.Release()
		s.took(t, "abcd")
		send(t, g, "e")
		s.took(t, "e")
	}
	// Finish sends the bytes at once, even while they are held.
	g.Hold()
	send(t, g, "f")
	g.Finish(30 * time.Second)
	s.took(t, "f")
	g.Release()
	s.took(t)
}

// A reply that is too long to be held goes out at once, after the bytes that are held already.
func TestLittleIsHeld(t *testing.T) {
	g, s := socketGuard(testLimits(), 1<<20)
	long := strings.Repeat("x", heldBytesMax)
	g.Hold()
	send(t, g, "a", long, "b")
	s.took(t, "a", long)
	g.Release()
	s.took(t, "b")
	g.Hold()
	send(t, g, "a", long+"y", "b")
	s.took(t, "a", long+"y")
	g.Release()
	s.took(t, "b")
}

// Bytes that the socket has no room for wait in the queue. Later bytes are not held, so they cannot
// overtake the queue.
func TestWhatIsHeldWaitsForRoom(t *testing.T) {
	g, s := socketGuard(testLimits(), 3)
	g.Hold()
	send(t, g, "abcde")
	g.Release()
	g.Hold()
	send(t, g, "fgh")
	g.Release()
	if n := g.Usage().WaitingBytes; n != 5 {
		t.Errorf("%d bytes wait", n)
	}
	s.open(100)
	g.Finish(30 * time.Second)
	if got := s.content(); got != "abcdefgh" {
		t.Errorf("%q", got)
	}
}

func TestWhatCannotBeReleasedEndsTheConnection(t *testing.T) {
	g, s := socketGuard(testLimits(), 3)
	g.Hold()
	send(t, g, "a")
	s.Close()
	g.Release()
	if _, err := g.Write([]byte("b")); !errors.Is(err, errShut) {
		t.Error(err)
	}
}

// A kick writes a limited number of bytes at once, if the socket has room. The rest goes out as the
// client reads.
func TestAKickWritesWhatThereIsRoomFor(t *testing.T) {
	kicked(t, drainBytes+5, 3, drainBytes+5)
	kicked(t, 1<<20, 1, 65_000)
	kicked(t, 0, 1, 0)
	kicked(t, 1<<20, 9, 0) // a goroutine starts at once to write the rest
}

// kicked queues messages that fill a number of pieces, on a socket with some room. It checks that a
// kick sends once bytes, and that the rest follows.
func kicked(t *testing.T, room, pieces int, once int64) {
	t.Helper()
	g, s := socketGuard(testLimits(), room)
	message := strings.Repeat("m", 1000)
	total := 0
	for total+len(message) <= pieces*drainBytes {
		if kick, err := g.WriteLater([]byte(message)); err != nil || kick != (total == 0) {
			t.Fatal(kick, err)
		}
		total += len(message)
	}
	s.took(t)
	g.Kick()
	if n := g.Usage().OutBytes; n != once && pieces <= kickPiecesMax+1 {
		t.Errorf("%d bytes went out at once, not %d", n, once)
	}
	for range 100 {
		s.open(total)
	}
	g.Finish(30 * time.Second)
	if got := s.content(); got != strings.Repeat("m", total) {
		t.Errorf("%d bytes of %d", len(got), total)
	}
	if kick, err := g.WriteLater([]byte("x")); !kick || err != nil {
		t.Error("behind it:", kick, err)
	}
}
