package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A frame of 8 MB takes 80 s at 100 KB a second, four times as long as a peer may accept nothing.
// If nothing moves any more, the peer is given up after that time.
func TestALongFrameMayTakeAsLongAsItsBytesMove(t *testing.T) {
	const bytes, bytesPerSec, piece = 8 << 20, 100 << 10, 10 << 10
	for _, takes := range []int{bytes, bytes / 2} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			go func() {
				for taken := 0; taken < takes; taken += piece {
					<-time.After(piece * time.Second / bytesPerSec)
					if _, err := io.CopyN(io.Discard, far, piece); err != nil {
						return // the frame has ended
					}
				}
			}()
			began := time.Now()
			err := writePieces(near, net.Buffers{make([]byte, bytes)}, new(atomic.Int64))
			near.Close()
			moved := time.Duration(takes/bytesPerSec) * time.Second
			took := time.Since(began)
			switch {
			case takes == bytes && (err != nil || took < moved):
				t.Errorf("%v after %v", err, took)
			case takes < bytes && (!errors.Is(err, os.ErrDeadlineExceeded) || took > moved+writeTimeout+time.Second):
				t.Errorf("nothing moves any more: %v after %v", err, took)
			}
		})
	}
}
