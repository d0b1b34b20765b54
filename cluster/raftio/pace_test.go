package raftio

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// slowLink is a stream layer over pipes in memory. A dialled connection is accepted at the other
// end of a link that passes bytesPerSec bytes a second. The link stands still while stopped is
// open.
type slowLink struct {
	bytesPerSec int
	accepted    chan net.Conn
	closed      chan struct{}
	// stopAfter is how many bytes a connection passes before it stands still. 0 means no limit.
	stopAfter int
}

func newSlowLink(bytesPerSec int) *slowLink {
	return &slowLink{bytesPerSec: bytesPerSec, accepted: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *slowLink) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *slowLink) Close() error   { close(l.closed); return nil }
func (l *slowLink) Addr() net.Addr { return &net.TCPAddr{} }

func (l *slowLink) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	near, farOfNear := net.Pipe()
	nearOfFar, far := net.Pipe()
	go func() { _, _ = io.Copy(farOfNear, nearOfFar); farOfNear.Close() }()
	go l.pass(nearOfFar, farOfNear)
	go func() {
		<-l.closed
		for _, c := range []net.Conn{near, farOfNear, nearOfFar, far} {
			c.Close()
		}
	}()
	select {
	case l.accepted <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *slowLink) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for passed := 0; ; {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if passed += n; l.stopAfter > 0 && passed > l.stopAfter {
			<-l.closed
			return
		}
		<-time.After(time.Duration(n) * time.Second / time.Duration(l.bytesPerSec)) // in synthetic time
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

const (
	testGap  = 10 * time.Second
	testStep = 1 << 20
	// longBytes is the length of a long entry.
	longBytes = 16 << 20
)

// overSlowLink returns a leader's transport to a follower that takes think to answer a request, in
// synthetic time.
func overSlowLink(t *testing.T, l *slowLink, think time.Duration) *raft.NetworkTransport {
	nt := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: Paced{StreamLayer: l, Gap: testGap, AnswerStep: testStep}, MaxPool: 1, Timeout: testGap, Logger: silent(),
	})
	nt.TimeoutScale = testStep
	t.Cleanup(func() { nt.Close() })
	go func() {
		for {
			select {
			case rpc := <-nt.Consumer():
				if install, ok := rpc.Command.(*raft.InstallSnapshotRequest); ok {
					_, _ = io.CopyN(io.Discard, rpc.Reader, install.Size)
					<-time.After(think)
					rpc.Respond(&raft.InstallSnapshotResponse{Success: true}, nil)
					continue
				}
				<-time.After(think)
				rpc.Respond(yesTo(rpc.Command), nil)
			case <-l.closed:
				return
			}
		}
	}()
	return nt
}

// entryOf returns a request with one entry of n bytes.
func entryOf(n int) *raft.AppendEntriesRequest {
	req := heartbeat(1)
	req.Entries = []*raft.Log{{Index: 1, Term: 1, Data: make([]byte, n)}}
	return req
}

// The library's deadline is 10 s, and the entry takes a minute.
func TestALongEntryArrivesOverANarrowLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nt := overSlowLink(t, newSlowLink(256<<10), 3*testGap)
		for range 2 { // the second over the same connection
			began := time.Now()
			var resp raft.AppendEntriesResponse
			must(t, nt.AppendEntries("b", "b", entryOf(longBytes), &resp))
			if took := time.Since(began); !resp.Success || took < time.Minute {
				t.Errorf("%+v after %v", resp, took)
			}
		}
		must(t, nt.Close())
	})
}

func TestALongEntryArrivesThroughAPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nt := overSlowLink(t, newSlowLink(256<<10), testGap+time.Second)
		// Data that is left of a single request must not affect requests in a pipeline.
		must(t, nt.AppendEntries("b", "b", entryOf(4<<20), &raft.AppendEntriesResponse{}))
		p, err := nt.AppendEntriesPipeline("b", "b")
		must(t, err)
		lengths := []int{4 << 20, longBytes, 3 << 20, 2 << 20}
		go func() {
			for _, n := range lengths {
				if _, err := p.AppendEntries(entryOf(n), &raft.AppendEntriesResponse{}); err != nil {
					t.Error(err)
				}
			}
		}()
		for _, n := range lengths {
			f := <-p.Consumer()
			if err := f.Error(); err != nil || len(f.Request().Entries[0].Data) != n {
				t.Errorf("the answer to %d bytes: %v", n, err)
			}
		}
		must(t, p.Close())
		must(t, nt.Close())
	})
}

func TestASnapshotArrivesOverANarrowLink(t *testing.T) {
	const size = 16 << 20
	synctest.Test(t, func(t *testing.T) {
		nt := overSlowLink(t, newSlowLink(64<<10), 15*testGap)
		req := &raft.InstallSnapshotRequest{RPCHeader: heartbeat(1).RPCHeader, Term: 1, Size: size}
		var resp raft.InstallSnapshotResponse
		began := time.Now()
		must(t, nt.InstallSnapshot("b", "b", req, &resp, bytes.NewReader(make([]byte, size))))
		if took := time.Since(began); !resp.Success || took < size/(64<<10)*time.Second {
			t.Errorf("%+v after %v", resp, took)
		}
		must(t, nt.Close())
	})
}

// However long a request is, a link that stands still is given up after the gap.
func TestALinkThatStandsStillIsNoticedAtOnce(t *testing.T) {
	for what, send := range map[string]func(*raft.NetworkTransport) error{
		"one entry": func(nt *raft.NetworkTransport) error {
			return nt.AppendEntries("b", "b", entryOf(longBytes), &raft.AppendEntriesResponse{})
		},
		"a pipeline": func(nt *raft.NetworkTransport) error {
			p, err := nt.AppendEntriesPipeline("b", "b")
			if err != nil {
				return err
			}
			defer p.Close()
			_, err = p.AppendEntries(entryOf(longBytes), &raft.AppendEntriesResponse{})
			return err
		},
		"a snapshot": func(nt *raft.NetworkTransport) error {
			const size = 1 << 30
			req := &raft.InstallSnapshotRequest{RPCHeader: heartbeat(1).RPCHeader, Term: 1, Size: size}
			return nt.InstallSnapshot("b", "b", req, &raft.InstallSnapshotResponse{}, io.LimitReader(zeroReader{}, size))
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newSlowLink(256 << 10)
			l.stopAfter = 10 << 20
			nt := overSlowLink(t, l, 0)
			began := time.Now()
			err := send(nt)
			if took := time.Since(began) - 40*time.Second; !timedOut(err) || took > testGap+time.Second {
				t.Errorf("%s: %v, %v behind the last byte", what, err, took)
			}
			must(t, nt.Close())
		})
	}
}

// A follower that never answers is given up: after one gap for a short request, after as many gaps
// as it has steps for a long one.
func TestAnAnswerMayTakeAsLongAsItsRequestIsLong(t *testing.T) {
	for _, c := range []struct {
		bytes int
		wait  time.Duration
	}{{100, testGap}, {testStep, testGap}, {8*testStep + 1, 8 * testGap}} {
		for what, ask := range map[string]func(*raft.NetworkTransport) error{
			"alone": func(nt *raft.NetworkTransport) error {
				return nt.AppendEntries("b", "b", entryOf(c.bytes), &raft.AppendEntriesResponse{})
			},
			"in a pipeline": func(nt *raft.NetworkTransport) error {
				p, err := nt.AppendEntriesPipeline("b", "b")
				if err != nil {
					return err
				}
				defer p.Close()
				if _, err := p.AppendEntries(entryOf(c.bytes), &raft.AppendEntriesResponse{}); err != nil {
					return err
				}
				return (<-p.Consumer()).Error()
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				nt := overSlowLink(t, newSlowLink(1<<30), time.Hour)
				began := time.Now()
				err := ask(nt)
				if took := time.Since(began); !timedOut(err) || took < c.wait || took > c.wait+time.Second {
					t.Errorf("%d bytes %s: %v after %v, not %v", c.bytes, what, err, took, c.wait)
				}
				must(t, nt.Close())
				<-time.After(2 * time.Hour) // the follower continues
			})
		}
	}
}

// timedOut reports whether a deadline has passed. The library's codec keeps only the text of an
// error.
func timedOut(err error) bool { return err != nil && strings.Contains(err.Error(), "i/o timeout") }

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { return len(b), nil }
