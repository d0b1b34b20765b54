package transport

import (
	"hash/crc32"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// outbox holds the frames that wait to be written to a connection. One goroutine writes all waiting
// frames with one call, so a burst costs one system call.
type outbox struct {
	mu   sync.Mutex // guards what follows, down to spare
	cond sync.Cond
	// pieces are the bytes to write, in order: runs of small frames copied
	// together, and large payloads as they are.
	pieces net.Buffers
	// open is true if the last piece may be appended to.
	open  bool
	bytes int
	// pushed is the id of the newest frame in the box, taken the id of the newest frame that was
	// given to the connection.
	pushed, taken uint64
	closed        bool
	// spare is a piece that was written and may be used again.
	spare []byte

	// writing is true during a write call. movedNs is when the connection last accepted a part that
	// more parts follow, since start.
	writing atomic.Bool
	movedNs atomic.Int64
}

const (
	// copyMax is the longest payload that is copied; a longer one costs less as a
	// piece of its own.
	copyMax = 16 << 10
	// A piece grows to pieceMax. A written piece is kept for reuse if it is not larger than
	// pieceKept.
	pieceMax, pieceKept = 64 << 10, 128 << 10
	// One write call writes writeMax bytes at most and may take writeTimeout: a peer that accepts
	// less in that time counts as gone. A long frame takes several calls, so it may take as long as
	// its bytes move, even on a narrow link.
	writeMax     = 256 << 10
	writeTimeout = 20 * time.Second
)

func newOutbox() *outbox {
	o := &outbox{}
	o.cond.L = &o.mu
	return o
}

// push adds a frame. It returns false if the box is full or closed. A small frame with must set has
// room when others have none. The payload must not be changed afterwards.
func (o *outbox) push(id uint64, code uint8, payload []byte, must bool) bool {
	sum := crc32.Checksum(payload, castagnoli)
	o.mu.Lock()
	defer o.mu.Unlock()
	most := queueBytesMax
	if must {
		most += smallBytesMax
	}
	if o.closed || o.bytes > 0 && o.bytes+len(payload) > most {
		return false
	}
	if !o.open || len(o.pieces[len(o.pieces)-1]) > pieceMax {
		o.pieces = append(o.pieces, o.spare[:0])
		o.spare = nil
		o.open = true
	}
	last := len(o.pieces) - 1
	o.pieces[last] = appendFrameHead(o.pieces[last], id, code, len(payload), sum)
	if len(payload) <= copyMax {
		o.pieces[last] = append(o.pieces[last], payload...)
	} else {
		o.pieces = append(o.pieces, payload)
		o.open = false
	}
	if o.bytes == 0 {
		o.cond.Signal()
	}
	o.bytes += frameHead + bodyHead + len(payload)
	o.pushed = id
	return true
}

// take waits for frames and takes all of them. It returns false if the box is closed.
func (o *outbox) take() (net.Buffers, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes == 0 && !o.closed {
		o.cond.Wait()
	}
	if o.closed {
		return nil, false
	}
	pieces := o.pieces
	o.pieces, o.open, o.bytes = nil, false, 0
	o.taken = o.pushed
	return pieces, true
}

// drain writes frames until the box or the connection is closed.
func (o *outbox) drain(conn net.Conn) {
	for {
		pieces, ok := o.take()
		if !ok {
			return
		}
		first := pieces[0]
		o.writing.Store(true)
		err := writePieces(conn, pieces, &o.movedNs)
		o.writing.Store(false)
		if err != nil {
			conn.Close()
			o.close()
			return
		}
		if cap(first) <= pieceKept {
			o.mu.Lock()
			o.spare = first
			o.mu.Unlock()
		}
	}
}

// writePieces writes all pieces, writeMax bytes at a time, so that progress can be seen. It sets
// movedNs after each part but the last.
func writePieces(conn net.Conn, pieces net.Buffers, movedNs *atomic.Int64) error {
	for len(pieces) > 0 {
		var part net.Buffers
		bytes := 0
		for len(pieces) > 0 && bytes < writeMax {
			p := pieces[0]
			if cut := writeMax - bytes; len(p) > cut {
				part = append(part, p[:cut])
				pieces[0] = p[cut:]
				break
			}
			part = append(part, p)
			bytes += len(p)
			pieces = pieces[1:]
		}
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := part.WriteTo(conn); err != nil {
			return err
		}
		if len(pieces) > 0 {
			movedNs.Store(int64(time.Since(start)))
		}
	}
	return nil
}

// close drops the waiting frames. It returns the id of the newest frame that the connection may
// have sent in part or in full.
func (o *outbox) close() (taken uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.pieces, o.spare = nil, nil
	o.cond.Broadcast()
	return o.taken
}
