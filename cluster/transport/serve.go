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
			// A ping bears the id of the request before it, which has its own answer.
			if !out.push(pingAnswered, answerDone, nil, true) {
				return
			}
			continue // A ping is no request: it prolongs no stranger's stay.
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
			// The peer takes its answers too slowly; this one is given up, so that
			// all others need not be.
			if len(answer)+bodyHead > FrameBytesMax || !out.push(id, answerDone, answer, false) {
				if !out.push(id, answerLost, nil, true) {
					conn.Close()
				}
			}
		})
	}
}

// serve has a request handled, here or aside. A panic aside ends the connection, too:
// it is closed, and the goroutine that reads it ends.
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

// refusal says why a request is not handled, "" if it is.
func (t *Transport) refusal(kind uint8, from Peer) string {
	switch {
	case t.handlers[kind].serve == nil:
		return fmt.Sprintf("node %s does not know requests of kind %d", t.cfg.NodeID, kind)
	case from.Stranger && !t.open[kind]:
		return fmt.Sprintf("requests of kind %d are for members of the cluster", kind)
	}
	return ""
}
