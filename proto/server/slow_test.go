package server_test

import (
	"strings"
	"testing"

	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// A client that sends many commands before it reads, and then reads, is slowed down: it gets all of
// its replies, and the waiting replies stay within the limit.
func TestAClientThatReadsIsSlowedDownAndNotCutOff(t *testing.T) {
	const (
		reads, valueBytes = 48, 1 << 20
		writes            = 160
		hardBytes         = 20 << 20
	)
	n := prototest.StartNode(t, 1)
	n.Starter.Always.Store(prototest.WayInPart) // unlike the router, the fake one has no bound for one read
	n.Set(func(s *client.Settings) { s.NormalOutput = client.OutputLimit{HardBytes: hardBytes} })
	value := strings.Repeat("x", valueBytes)
	prototest.Do(t, prototest.Dial(t, n.Addr), "SET", "big", value)
	c := prototest.Dial(t, n.Addr)
	var raw []byte
	for range reads {
		raw = respconn.AppendCommand(raw, "GET", "big")
	}
	for range writes {
		raw = respconn.AppendCommand(raw, "SET", "small", value[:100<<10])
	}
	if err := c.Write(raw); err != nil {
		t.Fatalf("%v; %d were closed for their output, %d for their requests; %d bytes wait", err, n.Stats.OutputClosed.Load(), n.Stats.QueryClosed.Load(), n.Stats.Waiting.Load())
	}
	prototest.Until(t, "the client is behind", func() bool { return n.Stats.Waiting.Load() > 8<<20 })
	for i := range reads + writes {
		if waits := n.Stats.Waiting.Load(); waits > hardBytes-(1<<20) {
			t.Fatalf("%d bytes wait", waits)
		}
		v, err := c.Read()
		if err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
		if text := v.String(); i < reads && len(text) < valueBytes || i >= reads && text != "+OK" {
			t.Fatalf("reply %d: %.100s", i, text)
		}
	}
	if closed := n.Stats.OutputClosed.Load(); closed != 0 {
		t.Errorf("%d clients were closed", closed)
	}
}
