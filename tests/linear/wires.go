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

// wireSecret is the cluster's secret. The proxies prove it, and expect proof of it.
const wireSecret = "what-all-nodes-and-their-wires-know"

// wires connect the nodes of a cluster. Each node has a proxy for its peer address, which learns
// from the preface of a connection which node made it. Traffic from one node to another can be
// held, in one direction only, on open connections and on new ones: it arrives late, or never if
// the connections are torn. Traffic to a node can be slowed down.
type wires struct {
	t       testing.TB
	secrets *ring.Ring

	mu      sync.Mutex
	changed *sync.Cond
	// held counts the holds on a way.
	held map[way]int
	// paces are the bandwidths to the nodes, by name.
	paces  map[string]*narrow.Pace
	open   map[*wire]struct{}
	closed bool
}

// way is a direction between two nodes, by their names.
type way struct{ from, to string }

// wire is one connection through the proxy.
type wire struct {
	// by is the direction in which it was dialled.
	by           way
	outer, inner net.Conn
}

func newWires(t testing.TB) *wires {
	w := &wires{t: t, secrets: ring.New(wireSecret), held: map[way]int{}, paces: map[string]*narrow.Pace{}, open: map[*wire]struct{}{}}
	w.changed = sync.NewCond(&w.mu)
	t.Cleanup(w.close)
	return w
}

// before makes a node's proxy. It is for proc.Options.
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

// pump passes on the traffic in one direction, when it may.
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

// await waits until traffic may pass. It returns false when the wires are closed.
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

// pace is the bandwidth to a node.
func (w *wires) pace(name string) *narrow.Pace {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paces[name] == nil {
		w.paces[name] = &narrow.Pace{}
	}
	return w.paces[name]
}

// cut reports whether traffic between two nodes is held in either direction.
func (w *wires) cut(a, b string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held[way{a, b}] > 0 || w.held[way{b, a}] > 0
}

// hold stops the traffic on some ways, until they are freed.
func (w *wires) hold(ways []way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, on := range ways {
		w.held[on]++
	}
}

// free undoes hold. Held traffic is passed on, or with tear its connections are closed.
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
