package transport

import (
	"bufio"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// serveRequests reads a peer's requests until the connection breaks.
func (t *Transport) serveRequests(conn net.Conn, from Peer) {
	out := newOutbox()
	t.wait.Go(func() { out.drain(conn) })
	defer out.close()
	from.in = t.serving(conn, from, out)
	defer from.in.ended.Store(true)
	r := bufio.NewReaderSize(conn, readBufferBytes)
	most := FrameBytesMax
	if from.Stranger {
		most = strangerBytesMax
	}
	var open atomic.Int64
	stay := func() {
		if from.Stranger {
			_ = conn.SetReadDeadline(time.Now().Add(t.pace.idle))
		}
	}
	stay()
	for {
		id, kind, payload, err := readFrame(r, most)
		if err != nil {
			return
		}
		from.in.heard()
		if kind == kindPing {
			// A ping has the id of the request before it, which gets its own answer.
			if !out.push(pingAnswered, answerDone, nil, true) {
				return
			}
			continue // A ping is not a request: it does not extend a stranger's time.
		}
		stay()
		if refusal := t.refusal(kind, from); refusal != "" {
			if !out.push(id, answerRefused, []byte(refusal), true) {
				return
			}
			continue
		}
		if open.Add(1) > outstandingMax {
			t.refusals.Warn(t.cfg.Log, "a peer has too many requests open", "peer", from.NodeID)
			return
		}
		t.serve(conn, t.handlers[kind], from, payload, func(answer []byte) {
			open.Add(-1)
			// The peer takes its answers too slowly. Give up this answer, so that the others can
			// still be sent.
			if len(answer)+bodyHead > FrameBytesMax || !out.push(id, answerDone, answer, false) {
				if !out.push(id, answerLost, nil, true) {
					conn.Close()
				}
			}
		})
	}
}

// serve handles a request, on this goroutine or on one of its own. A panic of the latter also ends
// the connection: it is closed, so the goroutine that reads it ends.
func (t *Transport) serve(conn net.Conn, h handler, from Peer, payload []byte, reply func([]byte)) {
	if !h.aside {
		h.serve(from, payload, reply)
		return
	}
	go func() {
		defer t.cfg.Panics.Catch("a request of a peer", func() { conn.Close() })
		h.serve(from, payload, reply)
	}()
}

// refusal returns why a request is not handled, or "" if it is.
func (t *Transport) refusal(kind uint8, from Peer) string {
	switch {
	case t.handlers[kind].serve == nil:
		return fmt.Sprintf("node %s does not know requests of kind %d", t.cfg.NodeID, kind)
	case from.Stranger && !t.open[kind]:
		return fmt.Sprintf("requests of kind %d are for members of the cluster", kind)
	}
	return ""
}
