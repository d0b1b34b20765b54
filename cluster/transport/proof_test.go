package transport

import (
	"bytes"
	"context"
	"errors"
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
	"lockstep/ground/secure"
	"lockstep/tests/kit/certs"
	"lockstep/tests/kit/ring"
)

const (
	oldSecret = "the-old-secret-of-these-tests"
	newSecret = "the-new-secret-of-these-tests"
)

// logged collects what a transport logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}

// TestAStrangerWithTheClusterIDGetsNothing: the node answers no request of any kind, no Raft stream
// and no byte, and no handler runs. The log says what happened, once a second at most.
func TestAStrangerWithTheClusterIDGetsNothing(t *testing.T) {
	var heard atomic.Int64
	log := &logged{}
	a, addr := open(t, "a", "one", func(tr *Transport) {
		tr.cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		for kind := 1; kind < 256; kind++ {
			tr.Handle(uint8(kind), func(_ Peer, _ []byte, reply func([]byte)) { heard.Add(1); reply(nil) })
		}
	})
	a.StreamLayer(0)
	for _, s := range []struct {
		name, cluster string
		ring          *ring.Ring
		err           error
	}{
		{"with another secret", "one", ring.New(newSecret), secret.ErrClosed},
		{"with another secret, as a node without a cluster", "", ring.New(newSecret), secret.ErrClosed},
		{"with no secret", "one", ring.New(), secret.ErrAsks},
		{"with no secret, as a node without a cluster", "", ring.New(), secret.ErrAsks},
	} {
		b, _ := open(t, "b", s.cluster, func(tr *Transport) { tr.cfg.Ring = s.ring })
		for kind := 1; kind < 256; kind++ {
			conn, err := b.dial(within(t), addr, preface{kind: streamRequests}, dialPatience)
			if !errors.Is(err, s.err) {
				t.Fatalf("%s, kind %d: %v, %v", s.name, kind, conn, err)
			}
		}
		_, err := b.Call(within(t), addr, kindKnock, nil)
		if !errors.Is(err, ErrNotSent) || !errors.Is(err, s.err) || strings.Contains(err.Error(), "one") && !strings.Contains(err.Error(), "none") {
			t.Errorf("%s: %v", s.name, err)
		}
		if _, err := b.StreamLayer(0).Dial(raft.ServerAddress(addr), dialPatience); !errors.Is(err, s.err) {
			t.Errorf("%s: a Raft stream: %v", s.name, err)
		}
	}
	if n := heard.Load(); n > 0 {
		t.Errorf("%d requests of strangers were handled", n)
	}
	text := log.String()
	if !strings.Contains(text, secret.ErrUnproved.Error()) || strings.Contains(text, "the-new") {
		t.Errorf("the log: %s", text)
	}
	if lines := strings.Count(text, "\n"); lines > 60 {
		t.Errorf("a thousand strangers made %d lines of log", lines)
	}
}

// TestWhoIsAdmittedWithoutASecretMayOnlyKnock: such a node also cannot pass as a member.
func TestWhoIsAdmittedWithoutASecretMayOnlyKnock(t *testing.T) {
	open1 := ring.Shared()
	open1.Admit(true)
	var seen atomic.Pointer[Peer]
	a, addr := open(t, "a", "one", func(tr *Transport) {
		tr.cfg.Ring = open1
		echoes(tr)
		tr.Handle(kindKnock, func(from Peer, _ []byte, reply func([]byte)) { seen.Store(&from); reply(nil) })
	})
	a.StreamLayer(0)
	b, _ := open(t, "b", "one", func(tr *Transport) { tr.cfg.Ring = ring.New() })
	if _, err := b.Call(within(t), addr, kindKnock, nil); err != nil {
		t.Fatal(err)
	}
	if from := seen.Load(); from == nil || !from.Stranger || !from.Unproved {
		t.Errorf("it is taken for %+v", from)
	}
	if _, err := b.Call(within(t), addr, kindEcho, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("another request: %v", err)
	}
	if _, err := b.StreamLayer(0).Dial(raft.ServerAddress(addr), dialPatience); err == nil {
		t.Error("it has a Raft stream")
	}
	// A program that sends the cluster's id without a proof.
	conn := unproved(t, addr)
	p := preface{kind: streamRequests, clusterID: "one", nodeID: "b"}
	if _, err := conn.Write(p.append(nil)); err != nil {
		t.Fatal(err)
	}
	if told, _ := io.ReadAll(conn); len(told) > 0 {
		t.Errorf("it is told %q", told)
	}
}

// unproved returns a connection whose handshake proved nothing.
func unproved(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn := stray(t, addr)
	done, err := secret.Dial(conn, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// stray returns a connection on which nothing was sent.
func stray(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// TestStrangersTakeNoMembersPlace: more connections than the hall holds send nothing, half of a
// hello, or only a hello, for as long as they can.
func TestStrangersTakeNoMembersPlace(t *testing.T) {
	a, addr := open(t, "a", "c", func(tr *Transport) { tr.pace.preface = time.Hour; echoes(tr) })
	for i := range secure.HandshakesMax + 100 {
		conn := stray(t, addr)
		said := secret.Magic + strings.Repeat("n", secret.BindingBytes)
		if _, err := conn.Write([]byte(said[:[]int{0, 3, len(said)}[i%3]])); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the hall is full", func() bool { return a.hall.Len() == secure.HandshakesMax })
	b, _ := open(t, "b", "c", nil)
	if _, err := b.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Errorf("a member is kept out: %v", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts[member] != 1 || a.counts[stranger] != 0 {
		t.Errorf("%d members and %d strangers are counted", a.counts[member], a.counts[stranger])
	}
}

func TestStrangersHaveADeadline(t *testing.T) {
	shared := ring.Shared()
	shared.Admit(true)
	a, addr := open(t, "a", "c", func(tr *Transport) {
		tr.cfg.Ring = shared
		tr.pace.preface, tr.pace.idle = 100*time.Millisecond, 100*time.Millisecond
		echoes(tr)
	})
	hello := secret.Magic + strings.Repeat("n", secret.BindingBytes)
	for _, said := range []string{"", "L", secret.Magic, hello, hello + "\x01proof", hello + "\x00", hello + "\x00" + "\x01\x00\x00\x00\x00\x00\x01b"} {
		conn := stray(t, addr)
		if _, err := conn.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil && errors.As(err, new(net.Error)) && err.(net.Error).Timeout() {
			t.Errorf("after %q it was not closed", said)
		}
	}
	// A stranger that was let in and sends nothing but pings.
	conn := unproved(t, addr)
	p := preface{kind: streamRequests, nodeID: "b"}
	if _, err := conn.Write(p.append(nil)); err != nil {
		t.Fatal(err)
	}
	go func() {
		out := newOutbox()
		out.push(0, kindPing, nil, true)
		pieces, _ := out.take()
		for writePieces(conn, net.Buffers{bytes.Clone(pieces[0])}, new(atomic.Int64)) == nil {
		}
	}()
	if _, err := io.Copy(io.Discard, conn); err != nil && errors.As(err, new(net.Error)) && err.(net.Error).Timeout() {
		t.Error("a stranger that only pings was not closed")
	}
	eventually(t, "nobody is counted any more", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.counts == [standings]int{}
	})
}

func TestStrangersThatAreLetInAreFew(t *testing.T) {
	_, addr := open(t, "a", "c", echoes)
	for range strangersMax {
		b, _ := open(t, "b", "", nil)
		if _, err := b.Call(within(t), addr, kindKnock, nil); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := open(t, "b", "", nil)
	if _, err := b.Call(within(t), addr, kindKnock, nil); !errors.Is(err, ErrRefused) {
		t.Errorf("one more: %v", err)
	}
	c, _ := open(t, "c", "c", nil)
	if _, err := c.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Errorf("a member: %v", err)
	}
}

// TestSecretsChangeUnderRequests: three nodes get the next secret one after the other, and then
// forget the old one. Connections that were proved by the old one are closed. Every request is
// answered, was certainly not handled, or returns an error that says it may have been handled.
func TestSecretsChangeUnderRequests(t *testing.T) {
	rings := []*ring.Ring{ring.New(oldSecret), ring.New(oldSecret), ring.New(oldSecret)}
	var all []*Transport
	var addrs []string
	for i, r := range rings {
		tr, addr := open(t, string(rune('a'+i)), "c", func(tr *Transport) { tr.cfg.Ring = r; echoes(tr) })
		all, addrs = append(all, tr), append(addrs, addr)
	}
	ctx, stop := context.WithCancel(within(t))
	var wait sync.WaitGroup
	var answered, unanswered atomic.Int64
	for _, from := range all {
		for _, to := range addrs {
			wait.Go(func() {
				for ctx.Err() == nil {
					_, err := from.Call(within(t), to, kindEcho, []byte("x"))
					switch {
					case err == nil:
						answered.Add(1)
					case errors.Is(err, ErrMaybeSent), errors.Is(err, ErrNotSent) && !errors.Is(err, secret.ErrClosed):
						unanswered.Add(1)
					default:
						t.Errorf("%v", err)
						return
					}
				}
			})
		}
	}
	progress := func() {
		t.Helper()
		before := answered.Load()
		eventually(t, "requests are answered", func() bool { return answered.Load() > before+100 })
	}
	progress()
	for _, words := range [][]string{{newSecret, oldSecret}, {newSecret}} {
		for i, r := range rings {
			r.Set(words...)
			all[i].Forget()
			progress()
		}
	}
	stop()
	wait.Wait()
	for i, tr := range all {
		tr.proofs.mu.Lock()
		for p := range tr.proofs.all {
			if !rings[i].Known().Has(p.by) {
				t.Errorf("%s has a connection that was proved by the old secret", tr.cfg.NodeID)
			}
		}
		tr.proofs.mu.Unlock()
	}
	late, _ := open(t, "d", "c", func(tr *Transport) { tr.cfg.Ring = ring.New(oldSecret) })
	if _, err := late.Call(within(t), addrs[0], kindEcho, nil); !errors.Is(err, secret.ErrClosed) {
		t.Errorf("who knows the old secret alone: %v", err)
	}
	t.Logf("%d answered, %d not", answered.Load(), unanswered.Load())
}

// TestACertificateIsNoSecret: under TLS a node with a certificate of the right authority must still
// prove the secret.
func TestACertificateIsNoSecret(t *testing.T) {
	ca := certs.NewAuthority(t, "own")
	mount := certs.NewMount(t, ca.Issue(certs.Wish{}), ca)
	for _, versions := range []string{"", "TLSv1.2"} {
		keeper, err := secure.Open(func() secure.Options {
			return secure.Options{Files: secure.Files{Cert: mount.Cert(), Key: mount.Key(), CAFile: mount.CA()}, Protocols: versions}
		}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		setup := func(r *ring.Ring) func(*Transport) {
			return func(tr *Transport) { tr.cfg.Secure, tr.cfg.Ring = keeper, r; echoes(tr) }
		}
		_, addr := open(t, "a", "c", setup(ring.Shared()))
		b, _ := open(t, "b", "c", setup(ring.Shared()))
		if _, err := b.Call(within(t), addr, kindEcho, make([]byte, 1<<20)); err != nil {
			t.Errorf("%q, a member: %v", versions, err)
		}
		x, _ := open(t, "x", "c", setup(ring.New(newSecret)))
		if _, err := x.Call(within(t), addr, kindEcho, nil); !errors.Is(err, secret.ErrClosed) {
			t.Errorf("%q, a stranger with a certificate: %v", versions, err)
		}
	}
}
