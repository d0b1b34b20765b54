package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// publishing measures how many messages per second one publisher delivers to all subscribers of a
// channel.
func publishing(b *bench) error {
	redis, ours, end, err := b.pair()
	if err != nil {
		return err
	}
	defer end()
	const target = 0.7
	for _, l := range []struct{ subscribers, messages int }{{1, 500_000}, {10, 200_000}, {100, 40_000}} {
		r := b.row(row{name: fmt.Sprintf("PUBLISH of 16 B to %d subscribers, messages received", l.subscribers), unit: "1/s", higher: true, target: target})
		err := b.beside(r, redis, ours, func(s *server) (float64, error) {
			return fanOut{s.addr(), l.subscribers, b.n(l.messages) / fanOutBatch}.run()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// fanOutBatch is how many messages the publisher writes at once.
	fanOutBatch = 100
	// fanOutAhead is how many batches the publisher may be ahead of the subscribers on average:
	// servers cut off subscribers that fall far behind.
	fanOutAhead    = 8
	fanOutChannel  = "news"
	fanOutPatience = 2 * time.Minute
)

// fanOut publishes batches to subscribers.
type fanOut struct {
	addr                 string
	subscribers, batches int
}

// run returns how many messages per second reached the subscribers, all together, until each had
// all of them.
func (f fanOut) run() (perSecond float64, err error) {
	deadline := time.Now().Add(fanOutPatience)
	payload := strings.Repeat("x", 16)
	frame := len(appendCommand(nil, "message", fanOutChannel, payload))
	// There is room for everything that will ever be sent.
	received := make(chan error, f.subscribers*(f.batches+1))
	var conns sync.WaitGroup
	defer conns.Wait()
	for range f.subscribers {
		conn, r, err := f.subscribe(deadline)
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		conns.Go(func() {
			for range f.batches {
				_, err := io.CopyN(io.Discard, r, int64(frame*fanOutBatch))
				if received <- err; err != nil {
					return
				}
			}
		})
	}
	begin := time.Now()
	if err := f.publish(payload, deadline, received); err != nil {
		return 0, err
	}
	return float64(f.subscribers*f.batches*fanOutBatch) / time.Since(begin).Seconds(), nil
}

func (f fanOut) subscribe(deadline time.Time) (net.Conn, *bufio.Reader, error) {
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(deadline)
	r := bufio.NewReaderSize(conn, 64<<10)
	if _, err = conn.Write(appendCommand(nil, "SUBSCRIBE", fanOutChannel)); err == nil {
		var isError bool
		if isError, err = skipReply(r); isError {
			err = errors.New("SUBSCRIBE was refused")
		}
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, r, nil
}

// publish sends all batches and waits until all are received.
func (f fanOut) publish(payload string, deadline time.Time, received <-chan error) error {
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(deadline)
	r := bufio.NewReaderSize(conn, 64<<10)
	var batch []byte
	for range fanOutBatch {
		batch = appendCommand(batch, "PUBLISH", fanOutChannel, payload)
	}
	got := 0
	for i := 1; i <= f.batches; i++ {
		if _, err := conn.Write(batch); err != nil {
			return err
		}
		for range fanOutBatch {
			n, err := readOne(r)
			if err == nil && n != strconv.Itoa(f.subscribers) {
				err = fmt.Errorf("PUBLISH reached %s of %d", n, f.subscribers)
			}
			if err != nil {
				return err
			}
		}
		wanted := f.subscribers * (i - fanOutAhead)
		if i == f.batches {
			wanted = f.subscribers * f.batches
		}
		for ; got < wanted; got++ {
			if err := <-received; err != nil {
				return err
			}
		}
	}
	return nil
}
