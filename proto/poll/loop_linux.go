package poll

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// eventsMax is how many connections the kernel reports to a loop at once.
	eventsMax = 256
	// TickEvery is about the time between two calls of Tick, while a guest wants them.
	TickEvery = 50 * time.Millisecond
	// laterMax is how many connections' replies wait for each other. The first reply wakes
	// the reader, which costs more than to write it; the reader is still awake for the
	// others.
	laterMax = 16
	// wakePlace stands for the descriptor that wakes the loop.
	wakePlace = -1
)

// Loop waits for connections.
type Loop struct {
	epoll, waker int
	events       []unix.EpollEvent

	// turn is held while guests are called: by the loop's goroutine while it does not
	// sleep, or by a goroutine that borrows the loop while it does. It comes before mu.
	turn sync.Mutex
	mu   sync.Mutex // guards what follows, down to closed
	// conns are the connections by their places, free the unused places.
	conns []*Conn
	free  []int
	// taken counts all connections so far.
	taken int32
	// wishes are the connections with something to do, spare the memory for the next ones.
	wishes, spare []*Conn
	// asleep is true while the loop waits and must be woken.
	asleep, closed bool
	// waking are the goroutines that are about to write to waker. It is closed after them,
	// because its number may soon be another file's.
	waking sync.WaitGroup
	done   chan struct{}

	// The holder of turn owns the following fields. ticking are the connections whose guests
	// want to be called by the clock, and ticked is when they were called last.
	ticking map[*Conn]struct{}
	ticked  time.Time
	// gave is true if other goroutines were given something to do.
	gave bool
	// later are the connections whose guests wait for Flush.
	later []*Conn
}

// New starts a loop.
func New() (*Loop, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	waker, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epoll)
		return nil, err
	}
	l := &Loop{epoll: epoll, waker: waker, events: make([]unix.EpollEvent, eventsMax), done: make(chan struct{}), ticking: map[*Conn]struct{}{}}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, waker, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: wakePlace}); err != nil {
		l.closeFiles()
		return nil, err
	}
	go l.run()
	return l, nil
}

// Take takes a connection over. It returns a Conn that replaces conn, outside the loop, and
// closes conn. After an error conn is as it was.
func (l *Loop) Take(conn *net.TCPConn) (*Conn, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, dupErr
	}
	c := &Conn{
		loop: l, fd: fd, local: conn.LocalAddr(), remote: conn.RemoteAddr(),
		gone: make(chan struct{}), input: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	if err := l.add(c); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	// The descriptor underneath lives on.
	_ = conn.Close()
	return c, nil
}

func (l *Loop) add(c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	if n := len(l.free); n > 0 {
		c.place, l.free = l.free[n-1], l.free[:n-1]
	} else {
		c.place = len(l.conns)
		l.conns = append(l.conns, nil)
	}
	l.taken++
	c.number = l.taken
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(c.place), Pad: c.number}
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &event); err != nil {
		l.free = append(l.free, c.place)
		return err
	}
	l.conns[c.place] = c
	return nil
}

// drop takes a descriptor off the list. It returns false if the loop keeps it.
func (l *Loop) drop(fd int) bool { return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil) == nil }

// wish records what is to be done with a connection, and wakes the loop if it
// sleeps.
func (l *Loop) wish(c *Conn, w wish, guest Guest) {
	l.mu.Lock()
	if guest != nil && c.guest != guest {
		// The loop may be calling its guest just now.
		c.guest = guest
	}
	if c.wanted == 0 {
		l.wishes = append(l.wishes, c)
	}
	c.wanted |= w
	wake := l.asleep
	if wake {
		l.asleep = false
		l.waking.Add(1)
	}
	l.mu.Unlock()
	if wake {
		l.wake()
	}
}

// wake wakes the loop, for a connection that has been added to l.waking.
func (l *Loop) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(l.waker, one[:])
	l.waking.Done()
}

// Close ends the loop. Its connections must have been closed.
func (l *Loop) Close() {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	if !closed {
		l.waking.Add(1)
	}
	l.mu.Unlock()
	if !closed {
		l.wake()
	}
	<-l.done
}

// Resting reports whether no guest is being called at this moment.
func (l *Loop) Resting() bool {
	if !l.turn.TryLock() {
		return false
	}
	l.turn.Unlock()
	return true
}

func (l *Loop) closeFiles() {
	_ = unix.Close(l.epoll)
	_ = unix.Close(l.waker)
}

func (l *Loop) run() {
	defer close(l.done)
	l.turn.Lock()
	defer l.turn.Unlock()
	for {
		n, err := l.wait()
		if err != nil {
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			// This happens only if the descriptor no longer belongs to this loop. To go on
			// would leave all its connections waiting in silence.
			panic("poll: " + err.Error())
		}
		for i := range n {
			l.tell(&l.events[i])
			l.flush(laterMax)
		}
		goOn := l.grant()
		l.flush(1)
		if !goOn {
			// From now on no goroutine finds the loop asleep.
			l.waking.Wait()
			l.closeFiles()
			return
		}
		l.tick()
	}
}

// wait returns at once if there is something to do.
func (l *Loop) wait() (int, error) {
	n, err := unix.EpollWait(l.epoll, l.events, 0)
	if n != 0 || err != nil {
		return n, err
	}
	if l.gave {
		// The goroutine that was given something runs before this one sleeps, on the same
		// processor: otherwise another thread would have to be woken for it.
		l.gave = false
		runtime.Gosched()
	}
	l.mu.Lock()
	idle := len(l.wishes) == 0 && !l.closed
	l.asleep = idle
	l.mu.Unlock()
	if !idle {
		return 0, nil
	}
	timeoutMs := -1
	if len(l.ticking) > 0 {
		timeoutMs = int(TickEvery.Milliseconds())
	}
	l.turn.Unlock()
	n, err = unix.EpollWait(l.epoll, l.events, timeoutMs)
	l.turn.Lock()
	l.mu.Lock()
	l.asleep = false
	l.mu.Unlock()
	return n, err
}

// tell passes a kernel event to its connection.
func (l *Loop) tell(e *unix.EpollEvent) {
	if e.Fd == wakePlace {
		var count [8]byte
		_, _ = unix.Read(l.waker, count[:])
		return
	}
	l.mu.Lock()
	c := l.conns[e.Fd]
	l.mu.Unlock()
	if c == nil || c.number != e.Pad {
		return
	}
	// At the end of the input, or at an urgent byte, a read is short although there is
	// more to learn.
	const breaks = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR | unix.EPOLLPRI
	if e.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 && c.writing.Load() > 0 {
		put(c.room)
	}
	if e.Events&(unix.EPOLLIN|breaks) == 0 {
		return
	}
	c.broken = c.broken || e.Events&breaks != 0
	if c.inside {
		c.guest.Ready()
	} else {
		put(c.input)
	}
}

// grant fulfils the wishes of other goroutines. It returns false if the loop must end.
func (l *Loop) grant() bool {
	l.mu.Lock()
	todo := l.wishes
	l.wishes, l.spare = l.spare[:0], nil
	closed := l.closed
	l.mu.Unlock()
	for i, c := range todo {
		todo[i] = nil
		l.mu.Lock()
		w := c.wanted
		c.wanted = 0
		l.mu.Unlock()
		if w&wishEnter != 0 {
			c.inside = true
		}
		if w&wishCall != 0 {
			c.guest.Called()
		}
		if c.inside && w&(wishEnter|wishReady|wishClosed) != 0 {
			c.guest.Ready()
		}
		if w&wishClosed != 0 {
			// The clock still calls a guest that has yet to leave.
			l.forget(c)
		}
		l.flush(laterMax)
	}
	l.mu.Lock()
	l.spare = todo[:0]
	l.mu.Unlock()
	return !closed
}

// borrow calls a guest while the loop sleeps. It returns false if the loop does not sleep,
// or is about to wake.
func (l *Loop) borrow(c *Conn) bool {
	if !l.turn.TryLock() {
		return false
	}
	defer l.turn.Unlock()
	l.mu.Lock()
	asleep := l.asleep
	l.mu.Unlock()
	if !asleep {
		return false
	}
	ticking := len(l.ticking)
	c.guest.Called()
	l.flush(1)
	if ticking == 0 && len(l.ticking) > 0 {
		// The loop sleeps without a clock.
		c.Again()
	}
	return true
}

// flush calls Flush of the guests that asked for it, if there are at least that many.
func (l *Loop) flush(least int) {
	if len(l.later) < least {
		return
	}
	for i, c := range l.later {
		l.later[i] = nil
		c.late = false
		c.guest.Flush()
	}
	l.later = l.later[:0]
}

// forget frees the place of a connection that is closed.
func (l *Loop) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns[c.place] == c {
		l.conns[c.place] = nil
		l.free = append(l.free, c.place)
	}
}

// tick calls the guests that want to be called by the clock.
func (l *Loop) tick() {
	if len(l.ticking) == 0 {
		return
	}
	now := time.Now()
	if now.Sub(l.ticked) < TickEvery {
		return
	}
	l.ticked = now
	for c := range l.ticking {
		c.guest.Tick()
	}
}
