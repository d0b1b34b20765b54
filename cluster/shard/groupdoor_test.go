package shard

import (
	"net"
	"sync"
	"testing"

	"lockstep/tests/kit/ring"
)

// door is the address of a node for its peers: a proxy that knows the cluster's secret, reads the
// dialling node's name in the preface, and can hold bytes back.
type door struct {
	addr string
	l    net.Listener

	mu      sync.Mutex
	changed *sync.Cond
	behind  string
	// cut and held are by sender. cut holds all bytes in both directions, held only the node's
	// answers.
	cut, held map[string]bool
	// waiting counts the held bytes of each sender.
	waiting map[string]int
	conns   map[net.Conn]struct{}
	closed  bool
}

func newDoor(t *testing.T) *door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{addr: l.Addr().String(), l: l, cut: map[string]bool{}, held: map[string]bool{}, waiting: map[string]int{}, conns: map[net.Conn]struct{}{}}
	d.changed = sync.NewCond(&d.mu)
	go d.accept()
	t.Cleanup(d.close)
	return d
}

// leadTo sets the address where the node listens now, and closes all connections.
func (d *door) leadTo(addr string) {
	d.mu.Lock()
	d.behind = addr
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
}

// set changes which bytes pass.
func (d *door) set(change func()) {
	d.mu.Lock()
	change()
	d.changed.Broadcast()
	d.mu.Unlock()
}

func (d *door) close() {
	d.l.Close()
	d.set(func() { d.closed = true })
	d.leadTo("")
}

func (d *door) accept() {
	for {
		c, err := d.l.Accept()
		if err != nil {
			return
		}
		go d.pass(c)
	}
}

func (d *door) pass(outer net.Conn) {
	defer outer.Close()
	from, preface, err := ring.Shared().Meet(outer)
	if err != nil {
		return
	}
	d.mu.Lock()
	behind := d.behind
	d.mu.Unlock()
	inner, err := net.Dial("tcp", behind)
	if err != nil {
		return
	}
	defer inner.Close()
	d.mu.Lock()
	d.conns[outer], d.conns[inner] = struct{}{}, struct{}{}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.conns, outer)
		delete(d.conns, inner)
		d.mu.Unlock()
	}()
	if !d.wait(preface.From, false, 1) {
		return
	}
	to, err := ring.Shared().Reach(inner, preface)
	if err != nil {
		return
	}
	go func() { d.pump(from, to, preface.From, true); outer.Close() }()
	d.pump(to, from, preface.From, false)
}

// pump copies bytes from one connection to another when they may pass.
func (d *door) pump(to, src net.Conn, from string, answers bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if !d.wait(from, answers, n) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait returns when bytes may pass. It returns false if the door is closed.
func (d *door) wait(from string, answers bool, n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !answers {
		d.waiting[from] += n
		defer func() { d.waiting[from] -= n }()
	}
	for !d.closed && (d.cut[from] && !answers || d.held[from] && answers) {
		d.changed.Wait()
	}
	return !d.closed
}

// cutOff holds all bytes between two sets of nodes, or lets them pass again.
func cutOff(a, b []*testNode, cut bool) {
	for _, x := range a {
		for _, y := range b {
			for _, p := range [][2]*testNode{{x, y}, {y, x}} {
				p[0].door.set(func() { p[0].door.cut[string(p[1].id)] = cut; p[0].door.held[string(p[1].id)] = cut })
			}
		}
	}
}
