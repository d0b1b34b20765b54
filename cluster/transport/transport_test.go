package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/secret"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/ring"
)

const (
	kindEcho  uint8 = 1
	kindKnock uint8 = 2
)

// open starts a transport on a free port of this machine; setup runs before the transport serves.
func open(t testing.TB, id, cluster string, setup func(*Transport)) (*Transport, string) {
	t.Helper()
	tr, err := Listen(Config{
		Ring: ring.Shared(), Listen: []string{"127.0.0.1:0"}, Advertise: id + ".example:7000", NodeID: id,
		ClusterID: func() string { return cluster }, OpenKinds: []uint8{kindKnock},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if setup != nil {
		setup(tr)
	}
	tr.Serve()
	t.Cleanup(func() { tr.Close() })
	return tr, tr.listeners[0].Addr().String()
}

func echoes(tr *Transport) {
	echo := func(_ Peer, payload []byte, reply func([]byte)) { reply(payload) }
	tr.Handle(kindEcho, echo)
	tr.Handle(kindKnock, echo)
}

// dialPatience is how long a stream may take to open on a machine that is busy.
const dialPatience = 20 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestRequestGetsItsAnswerWhateverItsLength(t *testing.T) {
	_, addr := open(t, "a", "c", echoes)
	b, _ := open(t, "b", "c", nil)
	for _, n := range []int{0, 1, copyMax, copyMax + 1, pieceMax + 1, 9 << 20} {
		payload := make([]byte, n)
		for i := range payload {
			payload[i] = byte(i * 7)
		}
		answer, err := b.Call(within(t), addr, kindEcho, payload)
		if err != nil || string(answer) != string(payload) {
			t.Fatalf("%d bytes: %d came back, %v", n, len(answer), err)
		}
	}
	if _, err := b.Call(within(t), addr, kindEcho, make([]byte, FrameBytesMax)); !errors.Is(err, ErrNotSent) {
		t.Errorf("a request that is too long: %v", err)
	}
}

func TestRequestsAreHandledInTheOrderOfSending(t *testing.T) {
	var mu sync.Mutex
	var seen []uint32
	var held []func()
	_, addr := open(t, "a", "c", func(tr *Transport) {
		tr.Handle(kindEcho, func(_ Peer, payload []byte, reply func([]byte)) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, binary.LittleEndian.Uint32(payload))
			held = append(held, func() { reply(payload) })
			// Answers are sent late and in another order.
			if len(held) == 10 {
				for i := len(held) - 1; i >= 0; i-- {
					go held[i]()
				}
				held = nil
			}
		})
	})
	b, _ := open(t, "b", "c", nil)
	const n = 10_000
	var wait sync.WaitGroup
	for i := range uint32(n) {
		wait.Add(1)
		payload := binary.LittleEndian.AppendUint32(nil, i)
		b.Go(addr, kindEcho, payload, func(answer []byte, err error) {
			if err != nil || binary.LittleEndian.Uint32(answer) != i {
				t.Errorf("request %d: %v %v", i, answer, err)
			}
			wait.Done()
		})
	}
	wait.Wait()
	mu.Lock()
	defer mu.Unlock()
	for i, s := range seen {
		if s != uint32(i) {
			t.Fatalf("request %d was handled as number %d", s, i)
		}
	}
}

func TestPeerOfAnotherClusterIsRefusedInWords(t *testing.T) {
	_, addr := open(t, "a", "one", echoes)
	b, _ := open(t, "b", "two", nil)
	_, err := b.Call(within(t), addr, kindEcho, nil)
	if !errors.Is(err, ErrRefused) || !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), `belongs to cluster one, not "two"`) {
		t.Errorf("%v", err)
	}
	if _, err = b.StreamLayer(0).Dial(raft.ServerAddress(addr), dialPatience); !errors.Is(err, ErrRefused) {
		t.Errorf("a Raft stream: %v", err)
	}
}

func TestStrangerMayOnlyKnock(t *testing.T) {
	a, addr := open(t, "a", "one", echoes)
	a.StreamLayer(0)
	b, _ := open(t, "b", "", nil)
	if _, err := b.Call(within(t), addr, kindKnock, nil); err != nil {
		t.Errorf("knocking: %v", err)
	}
	if _, err := b.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("another request: %v", err)
	}
	if _, err := b.StreamLayer(0).Dial(raft.ServerAddress(addr), dialPatience); !errors.Is(err, ErrRefused) {
		t.Errorf("a Raft stream: %v", err)
	}
}

func TestAnOutcastMayOnlyKnock(t *testing.T) {
	a, addr := open(t, "a", "one", func(tr *Transport) {
		tr.cfg.Outcast = func(id string) string {
			if id == "b" {
				return "node b was removed"
			}
			return ""
		}
		echoes(tr)
	})
	a.StreamLayer(0)
	b, _ := open(t, "b", "one", nil)
	c, _ := open(t, "c", "one", nil)
	if _, err := b.Call(within(t), addr, kindKnock, nil); err != nil {
		t.Errorf("knocking: %v", err)
	}
	if _, err := b.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("another request: %v", err)
	}
	if _, err := b.StreamLayer(0).Dial(raft.ServerAddress(addr), dialPatience); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "node b was removed") {
		t.Errorf("a Raft stream: %v", err)
	}
	if _, err := c.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Errorf("another node: %v", err)
	}
	if _, err := c.StreamLayer(0).Dial(raft.ServerAddress(addr), dialPatience); err != nil {
		t.Errorf("another node's Raft stream: %v", err)
	}
}

func TestNodeThatWasTakenInIsAStrangerNoMore(t *testing.T) {
	_, addr := open(t, "a", "one", echoes)
	var joined atomic.Bool
	b, _ := open(t, "b", "", func(tr *Transport) {
		tr.cfg.ClusterID = func() string {
			if joined.Load() {
				return "one"
			}
			return ""
		}
	})
	if _, err := b.Call(within(t), addr, kindKnock, nil); err != nil {
		t.Fatal(err)
	}
	joined.Store(true)
	if _, err := b.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Error(err)
	}
}

func TestUnknownKindIsRefusedAndTheConnectionLives(t *testing.T) {
	_, addr := open(t, "a", "c", echoes)
	b, _ := open(t, "b", "c", nil)
	if _, err := b.Call(within(t), addr, 99, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	first := b.peers[addr]
	if _, err := b.Call(within(t), addr, kindEcho, nil); err != nil || b.peers[addr] != first {
		t.Errorf("the next request: %v", err)
	}
}

func TestPeerThatCannotBeReachedWasCertainlyNotSentTo(t *testing.T) {
	addr := ports.FreeAddr(t)
	b, _ := open(t, "b", "c", nil)
	for range 20 {
		if _, err := b.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrNotSent) || errors.Is(err, ErrMaybeSent) {
			t.Fatal(err)
		}
	}
}

// Addresses of peers that are gone are forgotten: nodes may get new addresses for as long as the
// transport runs.
func TestAddressesThatAreGoneAreForgotten(t *testing.T) {
	tr, _ := open(t, "b", "c", nil)
	for i := range 2 * peersMax {
		addr := fmt.Sprintf("127.9.%d.%d:1", i/200, i%200+1)
		if _, err := tr.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrNotSent) {
			t.Fatal(err)
		}
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.peers) > peersMax {
		t.Errorf("%d peers are remembered", len(tr.peers))
	}
}

func TestRequestWithoutAnswerMayHaveBeenReceived(t *testing.T) {
	arrived := make(chan struct{}, 1)
	a, addr := open(t, "a", "c", func(tr *Transport) {
		tr.Handle(kindEcho, func(Peer, []byte, func([]byte)) { arrived <- struct{}{} })
	})
	b, _ := open(t, "b", "c", nil)
	go func() { <-arrived; a.Close() }()
	if _, err := b.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrMaybeSent) || errors.Is(err, ErrNotSent) {
		t.Error(err)
	}
}

func TestFramesNotGivenToTheConnectionWereCertainlyNotSent(t *testing.T) {
	b, _ := open(t, "b", "c", nil)
	p := newPeer(b, "nowhere:1")
	var errs [2]error
	for i := range errs {
		if _, err := p.send(kindEcho, nil, func(_ []byte, err error) { errs[i] = err }); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			p.out.take()
		}
	}
	p.fail(io.ErrUnexpectedEOF, 0)
	if !errors.Is(errs[0], ErrMaybeSent) || !errors.Is(errs[1], ErrNotSent) {
		t.Errorf("%v; %v", errs[0], errs[1])
	}
}

// mute accepts connections and lets them in, and then sends nothing.
func mute(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			as, err := secret.Accept(conn, ring.Shared().Known(), false, nil)
			if err != nil {
				continue
			}
			if _, err := readPreface(as); err == nil {
				_ = writeVerdict(as, "")
			}
		}
	}()
	return l.Addr().String()
}

func TestPeerThatStandsStillIsGivenUp(t *testing.T) {
	b, _ := open(t, "b", "c", func(tr *Transport) { tr.pace.ping = 50 * time.Millisecond })
	if _, err := b.Call(within(t), mute(t), kindEcho, nil); !errors.Is(err, ErrMaybeSent) {
		t.Error(err)
	}
}

func TestSlowHandlerIsNotTakenForDead(t *testing.T) {
	// This is long enough that a busy machine does not hold up so many pings that the connection is
	// closed.
	const ping = 350 * time.Millisecond
	_, addr := open(t, "a", "c", func(tr *Transport) {
		tr.Handle(kindEcho, func(_ Peer, payload []byte, reply func([]byte)) {
			time.AfterFunc((silentPings+3)*ping, func() { reply(payload) })
		})
	})
	b, _ := open(t, "b", "c", func(tr *Transport) { tr.pace.ping = ping })
	if _, err := b.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Error(err)
	}
}

func TestCallEndsWithItsContextAndLeavesNothingBehind(t *testing.T) {
	b, _ := open(t, "b", "c", nil)
	// The context ends when the request has arrived; the handler does not answer it.
	arrived := make(chan struct{}, 1)
	_, addr := open(t, "a", "c", func(tr *Transport) {
		tr.Handle(kindEcho, func(Peer, []byte, func([]byte)) { arrived <- struct{}{} })
	})
	ctx, cancel := context.WithCancel(within(t))
	go func() { <-arrived; cancel() }()
	if _, err := b.Call(ctx, addr, kindEcho, nil); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrMaybeSent) {
		t.Error(err)
	}
	p := b.peers[addr]
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) != 0 {
		t.Error("the request still waits")
	}
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	b, _ := open(t, "b", "c", nil)
	addr := mute(t)
	answers := make(chan error, 100)
	for range cap(answers) {
		b.Go(addr, kindEcho, nil, func(_ []byte, err error) { answers <- err })
	}
	b.Close()
	for range cap(answers) {
		if err := <-answers; err == nil {
			t.Fatal("no error")
		}
	}
	if _, err := b.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestConnectionThatSaysNothingIsClosed(t *testing.T) {
	_, addr := open(t, "a", "c", func(tr *Transport) { tr.pace.preface = 10 * time.Millisecond })
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("it was not closed: %v", err)
	}
}

func TestWhatWaitsToBeWrittenIsBounded(t *testing.T) {
	o := newOutbox()
	payload := make([]byte, 32<<20)
	n := 0
	for o.push(uint64(n), kindEcho, payload, false) {
		n++
	}
	if n != queueBytesMax/len(payload) && n != queueBytesMax/len(payload)-1 {
		t.Errorf("%d frames", n)
	}
	if !o.push(0, answerLost, nil, true) {
		t.Error("no room for the word that there is no room")
	}
	for n = 0; o.push(0, answerLost, nil, true); n++ {
		if n > smallBytesMax {
			t.Fatal("there is no end to what must go")
		}
	}
}

// A stranger does not need room for a long command.
func TestAStrangersFramesAreShort(t *testing.T) {
	_, addr := open(t, "a", "one", echoes)
	b, _ := open(t, "b", "", nil)
	if _, err := b.Call(within(t), addr, kindKnock, make([]byte, strangerBytesMax-bodyHead)); err != nil {
		t.Errorf("the longest: %v", err)
	}
	if _, err := b.Call(within(t), addr, kindKnock, make([]byte, strangerBytesMax)); !errors.Is(err, ErrMaybeSent) {
		t.Errorf("a longer one: %v", err)
	}
}

func TestAddressesStayNames(t *testing.T) {
	a, _ := open(t, "a", "c", nil)
	if got := a.StreamLayer(1).Addr().String(); got != "a.example:7000" {
		t.Errorf("advertised %q", got)
	}
	id, addr := SplitTarget(Target("n@1", "host:1"))
	if id != "n@1" || addr != "host:1" {
		t.Errorf("%q %q", id, addr)
	}
}

func BenchmarkEcho(b *testing.B) {
	for _, clients := range []int{1, 50} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			_, addr := open(b, "a", "c", echoes)
			cli, _ := open(b, "b", "c", nil)
			b.SetParallelism(clients)
			payload := make([]byte, 64)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := cli.Call(context.Background(), addr, kindEcho, payload); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// The number of open requests to one peer is bounded. One more is certainly not sent, and the
// earlier ones continue.
func TestOneRequestTooManyIsNotSent(t *testing.T) {
	var mu sync.Mutex
	var held []func([]byte)
	_, addr := open(t, "a", "c", func(tr *Transport) {
		tr.Handle(kindEcho, func(_ Peer, _ []byte, reply func([]byte)) {
			mu.Lock()
			held = append(held, reply)
			mu.Unlock()
		})
	})
	b, _ := open(t, "b", "c", nil)
	var answered atomic.Int64
	failed := make(chan error, outstandingMax)
	done := func(_ []byte, err error) {
		if err != nil {
			failed <- err
		}
		answered.Add(1)
	}
	for range outstandingMax {
		b.Go(addr, kindEcho, nil, done)
	}
	if _, err := b.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrNotSent) {
		t.Errorf("one too many: %v", err)
	}
	deadline, tick := time.After(40*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for answered.Load() < outstandingMax {
		mu.Lock()
		replies := held
		held = nil
		mu.Unlock()
		for _, reply := range replies {
			reply(nil)
		}
		select {
		case err := <-failed:
			t.Fatal(err)
		case <-deadline:
			t.Fatalf("%d were answered", answered.Load())
		case <-tick.C:
		}
	}
}
