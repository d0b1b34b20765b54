package router

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

// longReads is a shard whose reads have replies of these lengths, in turn.
type longReads struct {
	fakeShard
	bytes []int
}

func (l *longReads) Read(_ context.Context, _ time.Time, txns []fsm.Txn, _ uint64) ([]shard.Reply, error) {
	replies := make([]shard.Reply, len(txns))
	for i := range replies {
		replies[i].Bytes = make([]byte, l.bytes[i])
	}
	return replies, nil
}

// An answer is never longer than the transport takes: replies that do not fit are left for later,
// and one that never fits becomes an error. Gateways used to take a longer answer for a lost one.
func TestAnswersFitIntoAFrame(t *testing.T) {
	const most, half = 1 << 20, 1 << 19
	if hopBytesMax+64 > transport.FrameBytesMax {
		t.Errorf("no room around an answer of %d bytes", hopBytesMax)
	}
	for _, c := range []struct{ bytes, want []int }{
		{[]int{10, 20}, []int{10, 20}},
		{[]int{half, half - 1<<10, 10}, []int{half, half - 1<<10, 10}},
		{[]int{half, half, 10}, []int{half}},
		{[]int{10, most + 1, 20}, []int{10, len(errTooFar), 20}},
		{[]int{most, 10}, []int{most}},
		{[]int{most + 1}, []int{len(errTooFar)}},
	} {
		l := &longReads{fakeShard: fakeShard{addr: "a", self: true}, bytes: c.bytes}
		r := New(Config{Layout: halves{}, TimeoutMs: func() int { return 100 }, Replica: func(int) Shard { return l }})
		r.hopMax = most
		txns := make([]fsm.Txn, len(c.bytes))
		for i := range txns {
			txns[i] = callOf(0, "get", "k").Txn
		}
		request := fsm.AppendBundle([]byte{0, 0, 0, 0, 100, 0}, &fsm.Bundle{Txns: txns})
		r.Server().ServeRead(t.Context(), request, func(answer []byte) {
			if len(answer) > most+16 {
				t.Errorf("%d: an answer of %d bytes", c.bytes, len(answer))
			}
			res := decodeResult(answer, len(txns), true)
			if res.Err != nil || len(res.Replies) != len(c.want) {
				t.Fatalf("%d: %v, %d replies, want %d", c.bytes, res.Err, len(res.Replies), c.want)
			}
			for i, reply := range res.Replies {
				if len(reply.Bytes) != c.want[i] {
					t.Errorf("%d: reply %d has %d bytes, want %d", c.bytes, i, len(reply.Bytes), c.want[i])
				}
			}
		})
	}
}

// A request that is too long for another node is refused at once with an error that says so. That
// it was not sent does not mean that no leader is known.
func TestWhatIsTooLongToBeSentIsRefused(t *testing.T) {
	here := &fakeShard{addr: "b"}
	r := routerOf(600, &fakePeers{err: transport.ErrNotSent}, here, here)
	r.hopMax = 1 << 20
	long := string(bytes.Repeat([]byte("k"), r.hopMax))
	for _, command := range []string{"get", "incr"} {
		call := callOf(0, command, long)
		if r.Do(t.Context(), []*cluster.Call{call}); !errors.Is(call.Err, cluster.ErrTooLarge) {
			t.Errorf("%s: %v", command, call.Err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	call := callOf(0, "blpop", long, "0")
	if !r.Block(ctx, 0, call, nil) || !errors.Is(call.Err, cluster.ErrTooLarge) {
		t.Errorf("blpop: %v", call.Err)
	}
}

// If the replies to a bundle of writes do not fit into one message, the calls whose replies fit are
// answered. Without an answer the gateway would ask again, and never learn the outcome of a long
// one.
func TestOfABundlesRepliesThoseAreLostThatFindNoRoom(t *testing.T) {
	const most, half = 1 << 20, 1 << 19
	for _, c := range []struct{ bytes, want []int }{
		{[]int{10, 20}, []int{10, 20}},
		{[]int{half, half - 1<<10, 10}, []int{half, half - 1<<10, 10}},
		{[]int{half, half, 10, half - 1<<10}, []int{half, -1, 10, half - 1<<10}},
		{[]int{most, 10}, []int{-1, 10}},
		{[]int{most + 1}, []int{-1}},
	} {
		l := &fakeShard{addr: "a", self: true, lengths: c.bytes}
		leader := routerOf(1000, nil, l, l)
		leader.hopMax = most
		r := routerOf(1000, &fakePeers{to: leader}, &fakeShard{addr: "a"}, &fakeShard{addr: "a"})
		calls := make([]*cluster.Call, len(c.bytes))
		for i := range calls {
			calls[i] = callOf(0, "incr", "k")
		}
		r.Do(t.Context(), calls)
		for i, call := range calls {
			if lost := errors.Is(call.Err, cluster.ErrReplyLost); lost != (c.want[i] < 0) || !lost && (call.Err != nil || len(call.Reply) != c.want[i]) {
				t.Errorf("%d: reply %d: %d bytes, %v", c.bytes, i, len(call.Reply), call.Err)
			}
		}
	}
}
