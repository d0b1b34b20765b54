package linear

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/ring"
	"lockstep/tests/narrow"
)

// wireSecret is the cluster's, which the proxies prove and have proved, too.
const wireSecret = "what-all-nodes-and-their-wires-know"

// wires are what the nodes of a cluster reach each other by: each has a proxy for its
// peer address, which hears from the preface of a connection who made it. What one
// node sends another can be held, in one direction alone, on connections that are open
// and on new ones: it comes late, or never if they are torn. What a node is sent can be
// slowed down.
type wires struct {
	t       testing.TB
	secrets *ring.Ring

	mu      sync.Mutex
	changed *sync.Cond
	// held counts who holds a way.
	held map[way]int
	// paces say how fast each node, by its name, is sent what it is sent.
	paces  map[string]*narrow.Pace
	open   map[*wire]struct{}
	closed bool
}

// way is a direction between two nodes, by their names.
type way struct{ from, to string }

// wire is one connection, as the proxy has it.
type wire struct {
	// by made it.
	by           way
	outer, inner net.Conn
}

func newWires(t testing.TB) *wires {
	w := &wires{t: t, secrets: ring.New(wireSecret), held: map[way]int{}, paces: map[string]*narrow.Pace{}, open: map[*wire]struct{}{}}
	w.changed = sync.NewCond(&w.mu)
	t.Cleanup(w.close)
	return w
}

// before makes a node's proxy; it is for proc.Options.
func (w *wires) before(n *proc.Node) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	n.Flags("--peer-address", l.Addr().String(), "--cluster-secret", wireSecret)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.pass(c, n)
		}
	}()
}

func (w *wires) pass(outer net.Conn, to *proc.Node) {
	defer outer.Close()
	said, preface, err := w.secrets.Meet(outer)
	if err != nil {
		return
	}
	from, _, _ := strings.Cut(preface.From, ".")
	inner, err := net.Dial("tcp", to.PeerAddr())
	if err != nil {
		return
	}
	defer inner.Close()
	x := &wire{way{from, to.Name}, outer, inner}
	if !w.keep(x) {
		return
	}
	defer w.forget(x)
	if !w.await(x.by) {
		return
	}
	heard, err := w.secrets.Reach(inner, preface)
	if err != nil {
		return
	}
	go func() {
		w.pump(said, heard, way{to.Name, from})
		outer.Close()
		inner.Close()
	}()
	w.pump(heard, said, x.by)
}

// pump passes on what is sent one way, when it may.
func (w *wires) pump(to, from net.Conn, on way) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if wait := w.pace(on.to).Turn(n); wait > 0 {
				<-time.After(wait)
			}
			if !w.await(on) {
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

// await returns when something may pass; false: there are no wires any more.
func (w *wires) await(on way) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.held[on] > 0 && !w.closed {
		w.changed.Wait()
	}
	return !w.closed
}

func (w *wires) keep(x *wire) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[x] = struct{}{}
	return !w.closed
}

func (w *wires) forget(x *wire) {
	w.mu.Lock()
	delete(w.open, x)
	w.mu.Unlock()
}

// pace is how fast a node is sent what it is sent.
func (w *wires) pace(name string) *narrow.Pace {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paces[name] == nil {
		w.paces[name] = &narrow.Pace{}
	}
	return w.paces[name]
}

// cut reports whether something that one of two nodes sends the other is held.
func (w *wires) cut(a, b string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[way{a, b}] > 0 || w.held[way{b, a}] > 0
}

// hold lets nothing pass on some ways, until they are freed.
func (w *wires) hold(ways []way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, on := range ways {
		w.held[on]++
	}
}

// free undoes hold. What was held goes on its way, or with tear its connections break.
func (w *wires) free(ways []way, tear bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, on := range ways {
		w.held[on]--
		for x := range w.open {
			if tear && (x.by == on || x.by == way{on.to, on.from}) {
				x.outer.Close()
				x.inner.Close()
			}
		}
	}
	w.changed.Broadcast()
}

func (w *wires) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for x := range w.open {
		x.outer.Close()
		x.inner.Close()
	}
	w.changed.Broadcast()
}
