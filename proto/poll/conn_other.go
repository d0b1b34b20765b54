//go:build !linux

package poll

import (
	"errors"
	"net"
	"time"
)

// Conn stands for a connection of a Loop. This system has none, so no method is
// ever called.
type Conn struct{ net.Conn }

// Loop stands for a loop, of which this system has none.
type Loop struct{}

// TickEvery is about how often Tick is called.
const TickEvery = 50 * time.Millisecond

// New fails, because this system has no loops.
func New() (*Loop, error) { return nil, errors.New("poll: not on this system") }

// Take is never called.
func (*Loop) Take(*net.TCPConn) (*Conn, error) { return nil, ErrNothing }

// Close is never called.
func (*Loop) Close() {}

// Resting is never called.
func (*Loop) Resting() bool { return true }

// Enter is never called.
func (*Conn) Enter(Guest) {}

// Leave is never called.
func (*Conn) Leave() {}

// LeaveForGood is never called.
func (*Conn) LeaveForGood() {}

// LeftForGood is never called.
func (*Conn) LeftForGood() bool { return true }

// Gave is never called.
func (*Conn) Gave() {}

// Later is never called.
func (*Conn) Later() {}

// Call is never called.
func (*Conn) Call(bool) {}

// Again is never called.
func (*Conn) Again() {}

// Clock is never called.
func (*Conn) Clock(bool) {}

// Drained is never called.
func (*Conn) Drained() bool { return true }

// TryRead is never called.
func (*Conn) TryRead([]byte) (int, error) { return 0, ErrNothing }

// TryWrite is never called.
func (*Conn) TryWrite([]byte) (int, error) { return 0, ErrNothing }

// Control is never called.
func (*Conn) Control(func(fd uintptr)) error { return ErrNothing }
