package router

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

// waitsLeader is a shard whose leader answers the requests of waiting clients by a function. If the
// function returns nil, the request stays open until the next one.
type waitsLeader struct {
	fakeShard
	mu     sync.Mutex
	answer func(n int, w shard.Wait) *shard.Result
	asked  []shard.Wait
	open   func(shard.Result)
	left   int
}

func (l *waitsLeader) Wait(w shard.Wait, _ shard.Road, told func(shard.Result)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, w)
	if l.open != nil {
		l.open(*failing(shard.ErrRenew))
	}
	l.open = told
	if res := l.answer(len(l.asked)-1, w); res != nil {
		told(*res)
		l.open = nil
	}
}

func (l *waitsLeader) LeaveWait(fsm.TxnID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left++
}

func failing(err error) *shard.Result { return &shard.Result{Err: err} }

func outcome(o fsm.Outcome, text string) *shard.Result {
	return &shard.Result{Replies: []shard.Reply{{Bytes: []byte(text), Outcome: o}}}
}

// blockRouter returns a router whose own node leads and answers by a function.
func blockRouter(answer func(n int, w shard.Wait) *shard.Result) (*Router, *waitsLeader) {
	l := &waitsLeader{fakeShard: fakeShard{addr: "a", self: true}, answer: answer}
	return New(Config{Node: 1, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return 15_000 }, Replica: func(int) Shard { return l }}), l
}

// The answer of a blocking command follows from the leader's answers, and claims no more than is
// known: the command ran, did not run, or may have run.
func TestWhatAWaitIsAnswered(t *testing.T) {
	waitsOn := func(then ...*shard.Result) func(n int, w shard.Wait) *shard.Result {
		return func(n int, _ shard.Wait) *shard.Result { return then[min(n, len(then)-1)] }
	}
	renew, served, nothing := failing(shard.ErrRenew), outcome(fsm.OutcomeDone, "*1\r\n"), outcome(fsm.OutcomeUnserved, "")
	notHere := failing(cluster.ErrNotLeader)
	for what, c := range map[string]struct {
		answer func(n int, w shard.Wait) *shard.Result
		// reply or err is the answer. If neither is set, nothing came.
		reply string
		err   error
		// lastsMs is about how long the command takes; its timeout is a second.
		lastsMs int
	}{
		"served at once":               {answer: waitsOn(served), reply: "*1\r\n"},
		"served when it waits":         {answer: waitsOn(renew, renew, served), reply: "*1\r\n"},
		"served, and the reply lost":   {answer: waitsOn(renew, outcome(fsm.OutcomeReplyLost, "")), err: cluster.ErrReplyLost},
		"nothing in time":              {answer: waitsOn(renew, nil, nothing), lastsMs: 1000},
		"served at the end":            {answer: waitsOn(renew, nil, served), reply: "*1\r\n", lastsMs: 1000},
		"no room":                      {answer: waitsOn(failing(cluster.ErrOverloaded)), err: cluster.ErrOverloaded},
		"no room at another leader":    {answer: waitsOn(renew, failing(cluster.ErrUnknown), failing(cluster.ErrOverloaded), failing(cluster.ErrOverloaded), served), reply: "*1\r\n", lastsMs: 60},
		"nobody leads":                 {answer: waitsOn(notHere), err: cluster.ErrNoLeader, lastsMs: 6000},
		"a leader that is lost":        {answer: waitsOn(renew, failing(cluster.ErrUnknown), notHere), err: cluster.ErrUnknown, lastsMs: 6000},
		"one that never answers":       {answer: waitsOn(nil), err: cluster.ErrUnknown, lastsMs: 6000},
		"one that has let go":          {answer: waitsOn(renew, nil, failing(shard.ErrLeft), notHere), err: cluster.ErrNoLeader, lastsMs: 6000},
		"lost, and the next one knows": {answer: waitsOn(renew, failing(cluster.ErrUnknown), notHere, notHere, served), reply: "*1\r\n", lastsMs: 60},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, l := blockRouter(c.answer)
				call := callOf(0, "blpop", "k", "1")
				waits := 0
				begun := time.Now()
				answered := r.Block(t.Context(), time.Second, call, func() { waits++ })
				if answered != (c.reply != "" || c.err != nil) || string(call.Reply) != c.reply || !errors.Is(call.Err, c.err) {
					t.Errorf("answered: %v, %q, %v", answered, call.Reply, call.Err)
				}
				if took := time.Since(begun); took < time.Duration(c.lastsMs)*time.Millisecond || took > time.Duration(c.lastsMs+500)*time.Millisecond {
					t.Errorf("it took %v", took)
				}
				if renewed := l.answer(0, shard.Wait{}) == renew; waits != 1 && renewed || waits != 0 && !renewed {
					t.Errorf("it was told %d times that it waits", waits)
				}
				checkAsked(t, l.asked)
			})
		})
	}
}

// checkAsked checks that all requests belong to one wait, and report correctly whether another
// leader may have served it.
func checkAsked(t *testing.T, asked []shard.Wait) {
	t.Helper()
	for i, w := range asked {
		if w.ID != asked[0].ID || w.ID.Lane < fsm.WaitLane || w.Last && w.Settles {
			t.Errorf("request %d is %+v", i, w)
		}
		if i == 0 && w.Again || i > 0 && asked[i-1].Last && !w.Last {
			t.Errorf("request %d: again %v, last %v", i, w.Again, w.Last)
		}
	}
}

// A client that is unblocked takes nothing more, but gets an element that was popped just before.
func TestWhoIsLetGoIsAnsweredForGood(t *testing.T) {
	for end, want := range map[*shard.Result]string{outcome(fsm.OutcomeUnserved, ""): "false ", outcome(fsm.OutcomeDone, "x"): "true x"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, letGo := context.WithCancel(t.Context())
			r, _ := blockRouter(func(n int, w shard.Wait) *shard.Result {
				switch {
				case n == 0:
					return failing(shard.ErrRenew)
				case n == 1:
					letGo()
					return nil
				case !w.Last || !w.Settles:
					t.Errorf("the end: %+v", w)
				}
				return end
			})
			call := callOf(0, "blpop", "k", "0")
			answered := r.Block(ctx, 0, call, func() {})
			if got := fmt.Sprint(answered, " ", string(call.Reply)); got != want {
				t.Errorf("%s, not %s", got, want)
			}
		})
	}
}

// A lane is used again with another number. Two waits at the same time have two lanes.
func TestWaitsHaveIdentities(t *testing.T) {
	var w waitIDs
	a, first, _ := w.take()
	b, other, _ := w.take()
	w.give(a)
	c, second, _ := w.take()
	if a == b || a != c || first == second || first == 0 || other == 0 {
		t.Errorf("lanes %d %d %d, numbers %d %d %d", a, b, c, first, other, second)
	}
	w.seqs = make([]uint64, fsm.WaitLanes)
	if _, _, ok := w.take(); ok {
		t.Error("one too many")
	}
}

// A client that only reads makes an attempt when the leader says so. Only a leader that proves its
// lead can say that nothing came.
func TestWhoReadsTriesWhenItIsTold(t *testing.T) {
	for what, c := range map[string]struct {
		steps []error
		want  string
		err   error
	}{
		"served":         {want: "true :0\r\n"},
		"nobody to read": {steps: bytesOf(cluster.ErrNotLeader, 10_000), want: "true ", err: cluster.ErrNoLeader},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, l := blockRouter(func(n int, _ shard.Wait) *shard.Result {
				return []*shard.Result{failing(shard.ErrRenew), failing(shard.ErrTurn), nil}[min(n, 2)]
			})
			l.steps = c.steps
			call := callOf(0, "xread", "block", "500", "streams", "k", "0")
			call.ReadOnly = true
			begun := time.Now()
			answered := r.Block(t.Context(), 500*time.Millisecond, call, func() {})
			if got := fmt.Sprint(answered, " ", string(call.Reply)); got != c.want || !errors.Is(call.Err, c.err) || time.Since(begun) > 6*time.Second {
				t.Errorf("%s: %s, %v after %v", what, got, call.Err, time.Since(begun))
			}
		})
	}
}

// lastingPeers keep requests open.
type lastingPeers struct{ open chan func([]byte, error) }

func (p *lastingPeers) Go(_ string, _ uint8, payload []byte, done func([]byte, error)) {
	w, _, _ := decodeWait(payload[4:])
	if w.Last {
		done(appendResult(nil, *outcome(fsm.OutcomeUnserved, "")), nil)
		return
	}
	p.open <- done
}

// The waits of one gateway at other nodes leave room for its reads and writes.
func TestForwardedWaitsAreBounded(t *testing.T) {
	p := &lastingPeers{open: make(chan func([]byte, error), 1)}
	s := &fakeShard{addr: "b"}
	r := routerOf(100, p, s, s)
	r.forwardedWaits.Store(forwardedWaitsMax - 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	first := make(chan bool, 1)
	gone, leave := context.WithCancel(ctx)
	go func() { first <- r.Block(gone, 0, callOf(0, "blpop", "k", "0"), nil) }()
	answer := <-p.open
	call := callOf(0, "blpop", "k", "0")
	if !r.Block(ctx, 0, call, nil) || !errors.Is(call.Err, cluster.ErrOverloaded) {
		t.Errorf("one too many: %v, %q", call.Err, call.Reply)
	}
	// The room is free again when the leader has ended the request.
	answer(appendResult(nil, *failing(shard.ErrRenew)), nil)
	<-p.open
	if n := r.forwardedWaits.Load(); n != forwardedWaitsMax {
		t.Errorf("%d waits are open", n)
	}
	r.forwardedWaits.Add(-2)
	leave()
	if <-first {
		t.Error("who went away was answered")
	}
}

// A request that was not sent cannot be served; one that may have been sent may be served.
func TestARequestThatMayHaveBeenSentMayBeServed(t *testing.T) {
	for err, want := range map[error]error{transport.ErrNotSent: cluster.ErrNoLeader, transport.ErrMaybeSent: cluster.ErrUnknown} {
		synctest.Test(t, func(t *testing.T) {
			s := &fakeShard{addr: "b"}
			r := routerOf(15_000, &fakePeers{err: err}, s, s)
			call := callOf(0, "blpop", "k", "1")
			if !r.Block(t.Context(), time.Second, call, func() {}) || !errors.Is(call.Err, want) {
				t.Errorf("%v: %v", err, call.Err)
			}
		})
	}
}

// A wait arrives as it was sent. Malformed bytes are refused.
func TestAWaitTellsWhatItIsFor(t *testing.T) {
	id := fsm.TxnID{Origin: fsm.Origin{Node: 1, Boot: 2, Lane: fsm.WaitLane + 3}, Seq: 4}
	txn := callOf(0, "blpop", "a", "", "0").Txn
	for i := range 32 {
		sent := shard.Wait{ID: id, Txn: txn, Again: i&1 != 0, Last: i&2 != 0, Settles: i&4 != 0, Tried: i&8 != 0, TwoWays: i&16 != 0}
		got, leave, ok := decodeWait((&blocked{wait: sent}).encode(0)[4:])
		got.Txn.Ops = []fsm.Op{{Args: got.Txn.Ops[0].Args}}
		if !ok || leave || !reflect.DeepEqual(got, sent) {
			t.Errorf("%+v %v %v", got, leave, ok)
		}
	}
	if got, leave, ok := decodeWait((&blocked{wait: shard.Wait{ID: id, Txn: txn}}).encode(waitLeave)[4:]); !ok || !leave || got.ID != id {
		t.Errorf("who leaves: %+v %v %v", got, leave, ok)
	}
	exec := fsm.Txn{Kind: fsm.KindExec, Ops: txn.Ops}
	for what, w := range map[string]shard.Wait{
		"a command that does not wait": {ID: id, Txn: callOf(0, "set", "k", "v").Txn},
		"a transaction":                {ID: id, Txn: exec},
		"a lane that is none of waits": {ID: fsm.TxnID{Origin: fsm.Origin{Node: 1, Boot: 2, Lane: 3}}, Txn: txn},
		"a lane that there is not":     {ID: fsm.TxnID{Origin: fsm.Origin{Node: 1, Boot: 2, Lane: fsm.WaitLane + fsm.WaitLanes}}, Txn: txn},
	} {
		if _, _, ok := decodeWait((&blocked{wait: w}).encode(0)[4:]); ok {
			t.Errorf("%s is taken for a wait", what)
		}
	}
	for n := range 30 {
		if _, _, ok := decodeWait((&blocked{wait: shard.Wait{ID: id, Txn: txn}}).encode(0)[4 : 4+n]); ok {
			t.Errorf("%d bytes are taken for a wait", n)
		}
	}
}
