package poll

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is a TCP connection of a Loop. It is a net.Conn, for one reader and many
// writers at a time.
type Conn struct {
	loop          *Loop
	local, remote net.Addr

	// use is held, shared, while the descriptor is used or a deadline is set. Close and
	// LeaveForGood take it exclusively.
	use sync.RWMutex
	fd  int
	// file is set once the connection has left its loop for good: from then on Go's runtime
	// waits for it.
	file atomic.Pointer[os.File]
	// gone is closed when the connection is closed.
	gone chan struct{}

	// input and room hold a token if the kernel has reported input, or room to write, since
	// they were last checked.
	input, room chan struct{}
	// writing is the number of writers that wait for room.
	writing           atomic.Int32
	readEnd, writeEnd deadline

	// The holder of the loop's turn owns the fields down to number, except that Enter sets guest,
	// under loop.mu. inside means that the guest is called. broken means that the other side sends
	// nothing more, or has sent urgent bytes.
	guest  Guest
	inside bool
	broken bool
	// clocked is true if the guest wants ticks, late if it has asked for Flush.
	clocked, late bool
	// place is the connection's index in the loop. number distinguishes it from an earlier
	// connection at that index.
	place  int
	number int32
	// wanted is what the loop should do next, guarded by loop.mu.
	wanted wish
}

// wish is what the loop should do with a connection.
type wish uint8

const (
	wishEnter wish = 1 << iota
	wishCall
	wishReady
	wishClosed
)

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Enter puts the connection into the loop. From now on the loop calls guest, and only
// guest may read. The goroutine that served the connection outside calls it.
func (c *Conn) Enter(guest Guest) { c.loop.wish(c, wishEnter, guest) }

// Clock starts or stops the calls of the guest's Tick. The guest's methods call it.
func (c *Conn) Clock(yes bool) {
	if yes == c.clocked {
		return
	}
	c.clocked = yes
	if yes {
		c.loop.ticking[c] = struct{}{}
	} else {
		delete(c.loop.ticking, c)
	}
}

// Gave reports to the loop that another goroutine has work for the connection. The guest's methods
// call it.
func (c *Conn) Gave() { c.loop.gave = true }

// Later asks for a call of the guest's Flush soon: when the loop has called all connections with
// input, or some of them. The guest's methods call it.
func (c *Conn) Later() {
	if !c.late {
		c.late = true
		c.loop.later = append(c.loop.later, c)
	}
}

// Leave takes the connection out of the loop. The guest's methods call it. The goroutine
// that gets the connection may use it as a net.Conn.
func (c *Conn) Leave() {
	c.inside = false
	c.loop.gave = true
	c.Clock(false)
}

// LeaveForGood takes the connection off its loop for good. From now on a reader waits
// for it as for any net.Conn, and the loop need not wake the reader. The goroutine that
// serves the connection outside the loop calls it, and must not call Enter any more.
func (c *Conn) LeaveForGood() {
	c.use.Lock()
	defer c.use.Unlock()
	if c.fd < 0 || c.file.Load() != nil || !c.loop.drop(c.fd) {
		return
	}
	f := os.NewFile(uintptr(c.fd), "client")
	_ = f.SetReadDeadline(c.readEnd.time())
	_ = f.SetWriteDeadline(c.writeEnd.time())
	c.file.Store(f)
	// A goroutine that waits goes on waiting with the file.
	put(c.input)
	for range c.writing.Load() {
		put(c.room)
	}
}

// LeftForGood reports whether the connection has left its loop for good.
func (c *Conn) LeftForGood() bool { return c.file.Load() != nil }

// Call lets the guest's Called be called, even if the connection has left the loop
// meanwhile. Any goroutine may use it. With here, this goroutine makes the call if the loop
// sleeps, because most calls take less time than to wake the loop. For many connections at
// once, leave the calls to the loop.
func (c *Conn) Call(here bool) {
	if !here || !c.loop.borrow(c) {
		c.loop.wish(c, wishCall, nil)
	}
}

// Again asks for another call of the guest's Ready: there is more to do, but other guests
// come first.
func (c *Conn) Again() { c.loop.wish(c, wishReady, nil) }

// do makes one call that does not wait.
func (c *Conn) do(call func(fd int) (int, error)) (n int, err error) {
	c.use.RLock()
	defer c.use.RUnlock()
	if c.fd < 0 {
		return 0, net.ErrClosed
	}
	for {
		n, err = call(c.fd)
		if err != syscall.EINTR {
			break
		}
	}
	if err == syscall.EAGAIN {
		err = ErrNothing
	}
	return max(n, 0), err
}

// TryRead reads the available input, or returns ErrNothing.
func (c *Conn) TryRead(p []byte) (int, error) {
	n, err := c.do(func(fd int) (int, error) { return syscall.Read(fd, p) })
	if n == 0 && err == nil && len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// TryWrite writes as much as there is room for, or returns ErrNothing.
func (c *Conn) TryWrite(p []byte) (int, error) {
	return c.do(func(fd int) (int, error) { return syscall.Write(fd, p) })
}

// Drained reports whether a read that did not fill its buffer took all the input,
// so that there is nothing to read until Ready is called again.
func (c *Conn) Drained() bool { return !c.broken }

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	for {
		if f := c.file.Load(); f != nil {
			return f.Read(p)
		}
		if c.readEnd.past() {
			return 0, os.ErrDeadlineExceeded
		}
		n, err := c.TryRead(p)
		if err != ErrNothing {
			return n, err
		}
		if err := c.await(c.input, &c.readEnd); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		if f := c.file.Load(); f != nil {
			n, err := f.Write(p[done:])
			return done + n, err
		}
		if c.writeEnd.past() {
			return done, os.ErrDeadlineExceeded
		}
		n, err := c.TryWrite(p[done:])
		done += n
		if err == nil {
			continue
		}
		if err != ErrNothing {
			return done, err
		}
		if err := c.awaitRoom(p[done:], &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// awaitRoom waits until there is room. It checks once more after it has counted itself as
// waiting, because the loop wakes only such writers.
func (c *Conn) awaitRoom(p []byte, done *int) error {
	c.writing.Add(1)
	defer c.writing.Add(-1)
	n, err := c.TryWrite(p)
	*done += n
	if err != ErrNothing {
		return err
	}
	if c.LeftForGood() {
		// That token is older than this wait.
		return nil
	}
	return c.await(c.room, &c.writeEnd)
}

func (c *Conn) await(token chan struct{}, end *deadline) error {
	select {
	case <-token:
		return nil
	case <-end.reached():
		return os.ErrDeadlineExceeded
	case <-c.gone:
		return net.ErrClosed
	}
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.use.RLock()
	defer c.use.RUnlock()
	if f := c.file.Load(); f != nil {
		return f.SetReadDeadline(t)
	}
	c.readEnd.set(t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.use.RLock()
	defer c.use.RUnlock()
	if f := c.file.Load(); f != nil {
		return f.SetWriteDeadline(t)
	}
	c.writeEnd.set(t)
	return nil
}

// CloseWrite ends the sending direction of the connection.
func (c *Conn) CloseWrite() error {
	_, err := c.do(func(fd int) (int, error) { return 0, syscall.Shutdown(fd, syscall.SHUT_WR) })
	return err
}

// Control calls f with the descriptor.
func (c *Conn) Control(f func(fd uintptr)) error {
	_, err := c.do(func(fd int) (int, error) { f(uintptr(fd)); return 0, nil })
	return err
}

// Close implements net.Conn. A guest in the loop is called once more.
func (c *Conn) Close() error {
	c.use.Lock()
	fd := c.fd
	c.fd = -1
	c.use.Unlock()
	if fd < 0 {
		return net.ErrClosed
	}
	close(c.gone)
	// To close it also takes it off the loop's list.
	var err error
	if f := c.file.Load(); f != nil {
		err = f.Close()
	} else {
		err = syscall.Close(fd)
	}
	c.loop.wish(c, wishClosed, nil)
	return err
}

func put(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}
