package router

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// FuzzRequest: every request of another node gets one answer, soon; nothing panics, and the
// gateway's own writes continue.
func FuzzRequest(f *testing.F) {
	const from = 7
	shardOf := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	patient := func(n uint32) []byte { return binary.AppendUvarint(shardOf(n), 50) }
	bundle := func(args ...string) []byte {
		return fsm.AppendBundle(nil, &fsm.Bundle{Origin: fsm.Origin{Node: from, Boot: 1}, Txns: []fsm.Txn{callOf(0, args...).Txn}})
	}
	read := fsm.AppendBundle(nil, &fsm.Bundle{Txns: []fsm.Txn{callOf(0, "get", "k").Txn}})
	wait := &blocked{wait: shard.Wait{ID: fsm.TxnID{Origin: fsm.Origin{Node: from, Boot: 1}, Seq: 1}, Txn: callOf(0, "blpop", "k", "l", "0").Txn}}
	f.Add(KindPropose, append(patient(0), bundle("set", "k", "v")...))
	f.Add(KindPropose, append(patient(againBit), bundle("eval", "return redis.call('incr', KEYS[1])", "1", "k")...))
	f.Add(KindPropose, fsm.AppendBundle(patient(0), &fsm.Bundle{Origin: fsm.Origin{Node: from, Boot: 1}}))
	f.Add(KindRead, append(append(patient(1), 0), read...))
	f.Add(KindStale, append(append(patient(0), 1), read...))
	f.Add(KindIndex, shardOf(0))
	f.Add(KindWait, append(shardOf(0), wait.encode(0)[4:]...))
	f.Add(KindWait, append(shardOf(0), wait.encode(waitLeave)[4:]...))
	f.Add(KindLeader, shardOf(1))
	f.Add(KindBusy, append(shardOf(0), 1, 0, 2, 0))
	f.Add(KindTakeBack, append(shardOf(0), bundle("eval", "return 1", "0")...))
	addRelays(f, from, map[uint8][]byte{
		KindPropose: append(patient(0), bundle("set", "k", "v")...), KindRead: append(append(patient(1), 0), read...), KindIndex: shardOf(0),
		KindWait: append(shardOf(0), wait.encode(0)[4:]...), KindTakeBack: shardOf(0), KindRelay: relayRequest(KindIndex, shardOf(0)),
	})
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		s := newMachineShard(t)
		r, _ := gatewayOf(s, 50)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		answers := make(chan []byte, 8)
		reply := func(b []byte) { answers <- b }
		payload = bytes.Clone(payload)
		switch kind {
		case KindPropose:
			r.Server().ServePropose(from, payload, reply)
		case KindRead:
			r.Server().ServeRead(ctx, payload, reply)
		case KindStale:
			r.Server().ServeStale(ctx, payload, reply)
		case KindIndex:
			r.Server().ServeIndex(ctx, payload, reply)
		case KindWait:
			r.Server().ServeWait(from, present{}, payload, reply)
		case KindLeader:
			r.Server().ServeLeader(payload, reply)
		case KindBusy:
			r.Server().ServeBusy(payload, reply)
		case KindTakeBack:
			r.Server().ServeTakeBack(from, payload, reply)
		case KindRelay:
			r.Server().ServeRelay(ctx, from, present{}, payload, reply)
		case KindRelayed:
			r.Server().ServeRelayed(ctx, present{}, payload, reply)
		default:
			return
		}
		select {
		case <-answers:
		case <-time.After(time.Minute):
			t.Fatal("no answer")
		}
		own := callOf(0, "set", "own", "v")
		r.cfg.TimeoutMs = func() int { return 60_000 }
		r.Do(t.Context(), []*cluster.Call{own})
		if own.Err != nil || string(own.Reply) != "+OK\r\n" {
			t.Errorf("its own write: %q, %v", own.Reply, own.Err)
		}
		if len(answers) > 0 {
			t.Error("two answers")
		}
	})
}

// addRelays adds seeds of requests that are to be passed on, and of requests that were passed on,
// by their kind.
func addRelays(f *testing.F, gateway uint8, requests map[uint8][]byte) {
	for kind, request := range requests {
		f.Add(KindRelay, relayRequest(kind, request))
		payload := relayRequest(kind, request)
		payload[0] = gateway
		f.Add(KindRelayed, payload)
	}
}

// FuzzAnswer: the gateway accepts or rejects every answer of another node, and no reply is longer
// than the answer.
func FuzzAnswer(f *testing.F) {
	f.Add(appendResult(nil, shard.Result{Replies: []shard.Reply{{Bytes: []byte("+OK\r\n")}, {Outcome: fsm.OutcomeStale, Bytes: []byte{5}}}}))
	f.Add(appendLeader(nil, 7, shard.Leader{Term: 4, ID: "n1.07", Addr: "n1:7000"}))
	f.Add(binary.AppendUvarint([]byte{0, 0}, 1<<40))
	f.Add(appendBusy(nil, &busyWith))
	f.Fuzz(func(t *testing.T, data []byte) {
		for n := 1; n < 4; n++ {
			for _, fewer := range []bool{false, true} {
				res := decodeResult(data, n, fewer)
				size := 0
				for i := range res.Replies {
					size += len(res.Replies[i].Bytes)
				}
				if res.Err == nil && (len(res.Replies) == 0 || len(res.Replies) > n || !fewer && len(res.Replies) < n) || size > len(data) {
					t.Fatalf("%d replies of %d bytes for %d: %v", len(res.Replies), size, n, res.Err)
				}
				staleOf(res.Replies)
				_, _ = indexOf(res.Replies, res.Err)
			}
		}
		if _, l, ok := decodeLeader(data); ok && len(l.ID)+len(l.Addr) > len(data) {
			t.Fatalf("%+v", l)
		}
		if busy, ok := decodeBusy(data); ok && (len(busy.What)+len(busy.Node) > len(data) || busy.Ran < 0 || busy.Waited < 0) {
			t.Fatalf("%+v", busy)
		}
	})
}

// present is the connection of a gateway that was heard just now.
type present struct{}

func (present) SilentFor() time.Duration { return 0 }
