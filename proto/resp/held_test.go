package resp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/proto/poll"
)

// socket is a valve that also takes what there is room for at once, piece by piece.
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

// What is written between Hold and Release goes out with that, in one piece and in
// order, messages of others among it.
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
	// Nothing is held back for those who want it sent.
	g.Hold()
	send(t, g, "f")
	g.Finish(30 * time.Second)
	s.took(t, "f")
	g.Release()
	s.took(t)
}

// What is too long to be held goes out at once, behind what was.
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

// What there is no room for waits as ever, and what comes behind it is not held before it.
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

// A kick writes what there is room for, but not too much, and the rest as the client reads.
func TestAKickWritesWhatThereIsRoomFor(t *testing.T) {
	kicked(t, drainBytes+5, 3, drainBytes+5)
	kicked(t, 1<<20, 1, 65_000)
	kicked(t, 0, 1, 0)
	kicked(t, 1<<20, 9, 0) // and a goroutine goes on at once
}

// kicked leaves messages, in pieces, for a socket with some room; once bytes go out when it
// is kicked.
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
