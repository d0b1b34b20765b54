package membership

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"lockstep/cluster/meta"
)

// FuzzKnock: every node that knocks, a stranger or a member, gets one answer, in JSON. Every
// request to the meta group's leader is refused or carried out.
func FuzzKnock(f *testing.F) {
	newcomer := nodeNamed("n2", 2)
	body := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	for verb, b := range map[string][]byte{
		verbJoin: body(JoinRequest{Node: newcomer, Replace: true}), knockStanding: body(standingQuestion{Node: "n1.0000000000000001", PeerAddr: "n1:7000"}), knockPresence: nil,
		verbRemove: body(removeRequest{Node: "n1", Force: true}), verbReplace: body(removeRequest{Node: "n1", InFavourOf: "n2"}), verbTransfer: body(transferRequest{To: "n1", Term: 1}), verbLed: nil, verbRole: []byte(`{}`),
	} {
		f.Add(verb, b)
	}
	f.Fuzz(func(t *testing.T, verb string, b []byte) {
		if !json.Valid(b) {
			b = body(b)
		}
		w := newWorld(t)
		n := w.start(nodeNamed("n1", 1))
		w.found(n)
		answers := make(chan []byte, 2)
		reply := func(b []byte) { answers <- b }
		if verb == knockJoin {
			return // it waits as long as a newcomer waits; verbJoin is what it sends
		}
		n.ServeKnock(Visitor{Member: "n1.0000000000000001"}, body(knock{Verb: verb, Body: b}), reply)
		n.leaderRPC.Serve(body(map[string]any{"verb": verb, "group": meta.GroupID, "body": json.RawMessage(b), "timeout_ms": 100}), reply)
		for range 2 {
			select {
			case b := <-answers:
				if !json.Valid(b) {
					t.Fatalf("the answer is %q", b)
				}
			case <-time.After(time.Minute):
				t.Fatal("no answer")
			}
		}
		if v := n.machine.View(); len(v.Nodes) == 0 || len(v.Nodes) > 2 {
			t.Fatalf("%d nodes", len(v.Nodes))
		}
	})
}

// answering gives the same answer to every request.
type answering []byte

func (a answering) Call(context.Context, string, uint8, []byte) ([]byte, error) { return a, nil }

// FuzzAnswer: a knocking node survives any text as an answer.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"body":{"by":"n1.0000000000000001","cluster_id":"c","epoch":3,"state":"removed"}}`))
	f.Add([]byte(`{"refusal":{"code":"no","text":"no"}}`))
	f.Add([]byte(`{"again":"later"}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		// Ask leaves goroutines behind that read the answer yet, and the fuzzer uses its bytes again.
		caller := answering(bytes.Clone(answer))
		v := NewRemovalWatch(RemovalWatchConfig{Self: "n1.0000000000000001", ClusterID: "c", Caller: caller, Peers: func() []string { return []string{"a", "b"} }, View: meta.NewMachine().View, Log: quietLog()})
		_ = v.Ask(t.Context())
		var s Standing
		_ = ask(t.Context(), caller, "a", knockStanding, nil, &s)
		var w Welcome
		_ = ask(t.Context(), caller, "a", knockJoin, nil, &w)
	})
}
