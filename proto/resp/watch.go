package resp

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Watch watches the connection while its goroutine waits for something else: lost is closed
// if the client goes away. It keeps what the client sends meanwhile for Next, in a buffer of
// its own, because the caller still uses the buffer that Next gave it. It reads all of it,
// because the end of the connection shows only behind it, and cuts off a client that sends
// more than client-query-buffer-limit. stop ends the watch and must be called before Next.
func (g *Guard) Watch() (lost <-chan struct{}, stop func()) {
	w := &watch{guard: g, lost: make(chan struct{}), done: make(chan struct{})}
	_ = g.SetReadDeadline(time.Time{})
	go w.run()
	return w.lost, w.stop
}

type watch struct {
	guard      *Guard
	stopping   atomic.Bool
	lost, done chan struct{}
}

func (w *watch) run() {
	defer close(w.done)
	g := w.guard
	var buf [4 << 10]byte
	for !w.stopping.Load() {
		n, err := g.Conn.Read(buf[:])
		g.early = append(g.early, buf[:n]...)
		g.earlyBytes.Store(int64(cap(g.early)))
		if int64(len(g.early)) > g.limits().QueryBytesMax {
			g.traffic.QueryClosed.Add(1)
			_ = g.Close()
			close(w.lost)
			return
		}
		if n > 0 {
			continue
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && w.stopping.Load() {
			return
		}
		close(w.lost)
		return
	}
}

func (w *watch) stop() {
	w.stopping.Store(true)
	_ = w.guard.SetReadDeadline(time.Unix(1, 0))
	<-w.done
	_ = w.guard.SetReadDeadline(time.Time{})
	w.guard.deadlineSet = false
}
