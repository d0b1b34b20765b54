package router

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
)

// crowded is a shard whose leader has no room for another waiter, or for what
// the waiter tries.
type crowded struct {
	fakeShard
	wait error
}

func (c *crowded) Wait(_ shard.Wait, told func(error)) { told(c.wait) }

// Where there is no room to wait, or to try, that is the answer: it was not
// executed.
func TestNoRoomToWaitIsAnAnswer(t *testing.T) {
	for name, c := range map[string]*crowded{
		"no room to wait": {fakeShard: fakeShard{addr: "a", self: true}, wait: cluster.ErrOverloaded},
		"no room to try":  {fakeShard: fakeShard{addr: "a", self: true, steps: bytesOf(cluster.ErrOverloaded, 1000)}},
	} {
		r := New(Config{Node: 1, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return 100 }, Replica: func(int) Shard { return c }})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		call := callOf(0, "blpop", "k", "0")
		if !r.Block(ctx, 0, call, nil) || !errors.Is(call.Err, cluster.ErrOverloaded) {
			t.Errorf("%s: %v, %q", name, call.Err, call.Reply)
		}
		cancel()
	}
}

// lastingPeers never answer a wait that is not taken back.
type lastingPeers struct{ open chan func([]byte, error) }

func (p *lastingPeers) Go(_ string, _ uint8, payload []byte, done func([]byte, error)) {
	if _, leave, _ := decodeWait(payload[4:]); leave {
		done([]byte{0}, nil)
		return
	}
	p.open <- done
}

// One gateway's waits at other nodes leave room for its reads and writes.
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
	leave()
	if <-first {
		t.Error("who went away was answered")
	}
	// The room is free again when the leader has ended the request.
	answer([]byte{wireError(shard.ErrRenew)}, nil)
	if n := r.forwardedWaits.Load(); n != forwardedWaitsMax-1 {
		t.Errorf("%d waits are open", n)
	}
}

// A wait arrives as it was sent, with the kind of value it is for, and the group.
func TestAWaitTellsWhatItIsFor(t *testing.T) {
	for _, kind := range waitKinds {
		for _, group := range [][]byte{nil, {}, []byte("g")} {
			sent := shard.Wait{ID: shard.WaiterID{Node: 1, N: 2}, DB: 3, Keys: [][]byte{[]byte("a"), {}}, Kind: kind, Group: group, Shared: true}
			got, leave, ok := decodeWait((&blocked{wait: sent}).encode(waitLeave)[4:])
			if !ok || !leave || !reflect.DeepEqual(got, sent) {
				t.Errorf("%s: %+v %v %v", kind, got, leave, ok)
			}
		}
	}
}
