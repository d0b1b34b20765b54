package leaderrpc

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// FuzzRequest: every request of another node gets one answer, in JSON. Every answer of another node
// is accepted as one, or counts as none.
func FuzzRequest(f *testing.F) {
	for _, r := range []request{
		{Verb: "where", Group: 7, Body: json.RawMessage(`{"a":1}`), TimeoutMs: 5}, {Verb: "no", TimeoutMs: -1}, {Verb: "fly", TimeoutMs: 1 << 62, Relayed: true},
	} {
		b, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"refusal":{"code":"no","text":"no"},"again":"later"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := New(Config{
			Caller: fixed(data), Leader: func(group uint32) (string, bool) { return "b", group == 7 }, Peers: func() []string { return []string{"b"} },
		})
		defer c.Close()
		c.Handle("where", func(_ context.Context, _ uint32, body []byte) ([]byte, error) { return json.Marshal(len(body)) })
		c.Handle("no", func(context.Context, uint32, []byte) ([]byte, error) { return nil, &Refusal{Code: "no"} })
		answers := make(chan []byte, 2)
		c.Serve(data, func(b []byte) { answers <- b })
		select {
		case b := <-answers:
			if !json.Valid(b) {
				t.Fatalf("the answer is %q", b)
			}
		case <-time.After(time.Minute):
			t.Fatal("no answer")
		}
		if a, err := c.attempt(context.Background(), request{Verb: "where"}, 0); err == nil && a.Refusal != nil && !errors.Is(a.Refusal, a.Refusal) {
			t.Fatal(a)
		}
	})
}

// fixed gives the same answer to every request.
type fixed []byte

func (f fixed) Call(context.Context, string, uint8, []byte) ([]byte, error) { return f, nil }
