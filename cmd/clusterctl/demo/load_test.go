package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/tidwall/redcon"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/standin"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	proc.Main(m)
}

type silence struct{}

// Printf implements the client library's logger.
func (silence) Printf(context.Context, string, ...any) {}

// store is a server of strings that can be told to misbehave.
type store struct {
	addr string
	mu   sync.Mutex
	data map[string]string
	// set, if any, answers SET instead of the store. It returns false if it did not answer.
	set atomic.Pointer[func(conn redcon.Conn, key, value string) bool]
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{data: map[string]string{}}
	s.addr = standin.Listen(t, s.serve)
	return s
}

func (s *store) serve(conn redcon.Conn, cmd redcon.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch name := strings.ToUpper(string(cmd.Args[0])); name {
	case "SET":
		key, value := string(cmd.Args[1]), string(cmd.Args[2])
		if set := s.set.Load(); set == nil || !(*set)(conn, key, value) {
			s.data[key] = value
			conn.WriteString("OK")
		}
	case "MGET":
		conn.WriteArray(len(cmd.Args) - 1)
		for _, key := range cmd.Args[1:] {
			if value, ok := s.data[string(key)]; ok {
				conn.WriteBulkString(value)
			} else {
				conn.WriteNull()
			}
		}
	default:
		conn.WriteError("ERR unknown command '" + name + "'")
	}
}

// onSet makes f answer SET; f runs under mu.
func (s *store) onSet(f func(conn redcon.Conn, key, value string) bool) { s.set.Store(&f) }

// swallow answers OK and stores nothing.
func swallow(conn redcon.Conn, _, _ string) bool {
	conn.WriteString("OK")
	return true
}

// change changes the data directly.
func (s *store) change(f func(data map[string]string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.data)
}

const patience = 2 * time.Minute

// until waits until a condition holds.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen in %v", what, patience)
		}
		<-tick.C
	}
}

// start runs a load. stop ends it.
func start(t *testing.T, l *Load) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx)
	}()
	if !l.Toggle() {
		t.Fatal("the load was on already")
	}
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return stop
}

// write runs a load until n more writes are acknowledged.
func write(t *testing.T, l *Load, n int64) {
	t.Helper()
	stop := start(t, l)
	until(t, "writes", func() bool { return l.Acknowledged.Load() >= n })
	stop()
}

func finalCheck(t *testing.T, l *Load) (string, error) {
	t.Helper()
	return (&Demo{Load: l}).FinalCheck(context.Background())
}

func TestOfAnHonestStoreNothingIsLost(t *testing.T) {
	s := newStore(t)
	l := newLoad([]string{s.addr})
	stop := start(t, l)
	until(t, "writes and reads", func() bool { return l.Acknowledged.Load() >= 5000 && l.Checked.Load() >= 1000 })
	stop()
	verdict, err := finalCheck(t, l)
	want := fmt.Sprintf("acknowledged writes lost: 0 of %d (all %d keys read back)", l.Acknowledged.Load(), writers*keysPerWriter)
	if err != nil || verdict != want {
		t.Errorf("%q, %v; want %q", verdict, err, want)
	}
	if l.Errors.Load() != 0 {
		t.Errorf("%d errors", l.Errors.Load())
	}
}

// One key of thousands is enough, however its last write was lost.
func TestOneLostWriteIsNoticed(t *testing.T) {
	for name, lose := range map[string]func(data map[string]string, key string, acked int64){
		"the key is gone":          func(data map[string]string, key string, _ int64) { delete(data, key) },
		"the write before is back": func(data map[string]string, key string, acked int64) { data[key] = fmt.Sprint(acked - keysPerWriter) },
		"one less":                 func(data map[string]string, key string, acked int64) { data[key] = fmt.Sprint(acked - 1) },
		"no number":                func(data map[string]string, key string, _ int64) { data[key] = "x" },
		"empty":                    func(data map[string]string, key string, _ int64) { data[key] = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			l := newLoad([]string{s.addr})
			write(t, l, 2000)
			k := 0
			for l.acked[k].Load() == 0 {
				k++
			}
			s.change(func(data map[string]string) { lose(data, demoKey(k), l.acked[k].Load()) })
			if _, err := finalCheck(t, l); err == nil || err.Error() != fmt.Sprintf("acknowledged writes lost: 1 of %d", l.Acknowledged.Load()) {
				t.Errorf("the last word is %v", err)
			}
		})
	}
}

func TestAStoreThatForgetsIsNoticedWhileTheLoadRuns(t *testing.T) {
	s := newStore(t)
	l := newLoad([]string{s.addr})
	stop := start(t, l)
	until(t, "writes", func() bool { return l.Acknowledged.Load() >= 1000 })
	if lost := l.Lost.Load(); lost != 0 {
		t.Fatalf("%d lost before anything was", lost)
	}
	s.onSet(swallow)
	until(t, "the loss is noticed", func() bool { return l.Lost.Load() > 0 })
	stop()
	if d := (&Demo{Load: l}); strings.HasPrefix(d.Verdict(), "acknowledged writes lost: 0 ") {
		t.Error(d.Verdict())
	}
}

// Data that an earlier demo left in a kept folder does not count as writes of this one.
func TestNumbersOfAnEarlierDemoHideNothing(t *testing.T) {
	s := newStore(t)
	earlier := newLoad([]string{s.addr})
	write(t, earlier, 5000)
	s.onSet(swallow)
	l := newLoad([]string{s.addr})
	stop := start(t, l)
	// Even if only a few of the writers have written.
	until(t, "writes of a thousand keys", func() bool {
		keys := 0
		for k := range l.acked {
			if l.acked[k].Load() > 0 {
				keys++
			}
		}
		return keys >= 1000
	})
	stop()
	if _, err := finalCheck(t, l); err == nil || l.Lost.Load() < 1000 {
		t.Errorf("%v; %d of %d noticed", err, l.Lost.Load(), l.Acknowledged.Load())
	}
}

// Only acknowledged writes count: a write that a node refused, or that was on its way when the node
// died, may exist or not.
func TestWritesWithoutAnAcknowledgementAreNotMissed(t *testing.T) {
	for name, refuse := range map[string]func(redcon.Conn){
		"an error": func(conn redcon.Conn) { conn.WriteError("INDETERMINATE the outcome is not known") },
		"no reply": func(conn redcon.Conn) { conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			var refused atomic.Int64
			s.onSet(func(conn redcon.Conn, key, _ string) bool {
				if refused.Add(1)%2 == 0 {
					return false
				}
				refuse(conn)
				return true
			})
			l := newLoad([]string{s.addr})
			write(t, l, 50)
			if verdict, err := finalCheck(t, l); err != nil {
				t.Errorf("%q, %v", verdict, err)
			}
			if stored := len(s.data); int64(stored) > l.Acknowledged.Load()+writers {
				t.Errorf("%d keys, %d acknowledged", stored, l.Acknowledged.Load())
			}
			if counted := l.Errors.Load() > 0; counted != (name == "an error") {
				t.Errorf("%d errors counted", l.Errors.Load())
			}
		})
	}
}

func TestACheckThatReachesNobodyIsNoGoodNews(t *testing.T) {
	s := newStore(t)
	l := newLoad([]string{s.addr})
	write(t, l, 100)
	l.addrs = []string{"127.0.0.1:1"}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if verdict, err := (&Demo{Load: l}).FinalCheck(ctx); err == nil || !strings.Contains(err.Error(), "the last check reached 0 of 4000 keys") {
		t.Errorf("%q, %v", verdict, err)
	}
	if verdict, err := finalCheck(t, newLoad(nil)); err != nil || verdict != "nothing was written" {
		t.Errorf("%q, %v", verdict, err)
	}
}

func TestPlainLinesEndWithTheVerdict(t *testing.T) {
	s := newStore(t)
	d := &Demo{Load: newLoad([]string{s.addr})}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for d.Load.Acknowledged.Load() == 0 && ctx.Err() == nil {
			pause(ctx, time.Millisecond)
		}
		cancel()
	}()
	var out strings.Builder
	if err := d.RunPlain(ctx, &out); err != nil || !strings.Contains(out.String(), "acknowledged writes lost: 0 of ") {
		t.Errorf("%q, %v", out.String(), err)
	}
	s.change(func(data map[string]string) { clear(data) })
	ended, end := context.WithCancel(context.Background())
	end()
	if err := d.RunPlain(ended, io.Discard); err == nil || !strings.Contains(err.Error(), "acknowledged writes lost: ") {
		t.Errorf("an empty store: %v", err)
	}
}

func TestAFolderWithMoreNodesIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "n3"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := checkKept(dir, 3); err != nil {
		t.Error(err)
	}
	if err := checkKept(dir, 1); err == nil || !strings.Contains(err.Error(), "--nodes 3") {
		t.Errorf("%v", err)
	}
}
