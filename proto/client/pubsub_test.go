package client_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/proto/pubsub"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// A client with subscriptions gets the same replies, and may run the same commands, as with
// redis-server.
func TestListeningIsAsRedisDoesIt(t *testing.T) {
	ours, redis := prototest.StartNode(t, 1), prototest.StartRedis(t)
	for name, script := range map[string]string{
		"subscribe":           "SUBSCRIBE a b a\nPING\nPING x\nUNSUBSCRIBE b\nUNSUBSCRIBE zz\nUNSUBSCRIBE",
		"patterns":            "PSUBSCRIBE a* b?\nSUBSCRIBE a\nPUNSUBSCRIBE\nUNSUBSCRIBE\nPING",
		"shard channels":      "SSUBSCRIBE {x}a {x}b\nSUBSCRIBE c\nSUNSUBSCRIBE {x}a\nSUNSUBSCRIBE\nUNSUBSCRIBE",
		"nothing to give up":  "UNSUBSCRIBE\nPUNSUBSCRIBE\nSUNSUBSCRIBE\nUNSUBSCRIBE a\nGET k",
		"not while listening": "SUBSCRIBE a\nGET k\nSET k v\nPUBLISH a x\nCONFIG GET port\nCLIENT ID\nMULTI\nUNSUBSCRIBE a\nGET k",
		"not by shard either": "SSUBSCRIBE a\nGET k\nEXEC",
		"three may":           "HELLO 3\nSUBSCRIBE a\nPSUBSCRIBE a*\nGET k\nPING\nUNSUBSCRIBE\nPUNSUBSCRIBE\nSSUBSCRIBE s\nSUNSUBSCRIBE\nSUNSUBSCRIBE",
		"reset":               "SUBSCRIBE a\nRESET\nGET k",
		"back to two":         "HELLO 3\nSUBSCRIBE a\nHELLO 2\nGET k\nUNSUBSCRIBE\nGET k",
		"in a transaction":    "MULTI\nSUBSCRIBE a b\nPUBSUB NUMPAT\nEXEC\nPING",
		"publish in multi":    "MULTI\nSET k v\nPUBLISH a x\nGET k\nEXEC",
		"nobody":              "PUBLISH a x\nSPUBLISH a x\nSET k 1\nPUBLISH b y\nINCR k\nPUBLISH c z\nDEL k",
		"asked":               "PUBSUB CHANNELS\nPUBSUB CHANNELS *\nPUBSUB CHANNELS a b\nPUBSUB NUMSUB\nPUBSUB NUMSUB a b\nPUBSUB NUMPAT\nPUBSUB NUMPAT x\nPUBSUB SHARDCHANNELS\nPUBSUB SHARDNUMSUB a\nPUBSUB NOPE\nPUBSUB",
		"arity":               "SUBSCRIBE\nPSUBSCRIBE\nSSUBSCRIBE\nPUBLISH a\nSPUBLISH a b c",
	} {
		prototest.Compare(t, ours.Addr, redis, name, prototest.Commands(t, script))
	}
}

func readNext(t *testing.T, c *respconn.Conn) string {
	t.Helper()
	v, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(v.String()), " ")
}

// TestMessagesAreAsRedisSendsThem runs the same commands on both servers and compares what a
// subscriber receives.
func TestMessagesAreAsRedisSendsThem(t *testing.T) {
	ours, redis := prototest.StartNode(t, 1), prototest.StartRedis(t)
	heard := func(addr string) (all []string) {
		for _, proto := range []string{"2", "3"} {
			listener, speaker := prototest.Dial(t, addr), prototest.Dial(t, addr)
			prototest.Do(t, listener, "HELLO", proto)
			for _, args := range [][]string{{"SUBSCRIBE", "a", "b"}, {"PSUBSCRIBE", "a*", "[a-c]"}, {"SSUBSCRIBE", "a"}} {
				if err := listener.Send(args...); err != nil {
					t.Fatal(err)
				}
				for range len(args) - 1 {
					all = append(all, readNext(t, listener))
				}
			}
			for _, args := range [][]string{{"PUBLISH", "a", "1"}, {"PUBLISH", "b", ""}, {"PUBLISH", "none", "x"}, {"PUBLISH", "abc", "\x00\xff"}, {"SPUBLISH", "a", "s"}, {"SPUBLISH", "b", "s"}} {
				all = append(all, prototest.Do(t, speaker, args...))
			}
			for range 7 {
				all = append(all, readNext(t, listener))
			}
			all = append(all, prototest.Do(t, speaker, "PUBSUB", "NUMPAT"), prototest.Do(t, speaker, "PUBSUB", "NUMSUB", "a", "zz"), prototest.Do(t, speaker, "PUBSUB", "SHARDNUMSUB", "a"))
			listener.Close()
			prototest.Until(t, "the listener is gone", func() bool { return prototest.Do(t, speaker, "PUBSUB", "NUMPAT") == ":0" })
			all = append(all, prototest.Do(t, speaker, "PUBSUB", "CHANNELS"), prototest.Do(t, speaker, "PUBLISH", "a", "x"))
		}
		return all
	}
	// Redis sends a message that matches several patterns of a client in an undefined order; a node
	// sends it sorted by pattern.
	want, got := heard(redis), heard(ours.Addr)
	if a, b := sortedLines(want), sortedLines(got); a != b {
		t.Error(prototest.Difference(a, b))
	}
}

func sortedLines(all []string) string {
	lines := append([]string(nil), all...)
	for i := range lines {
		for j := i + 1; j < len(lines); j++ {
			if lines[j] < lines[i] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return strings.Join(lines, "\n")
}

// Messages of one connection arrive in order, and after the writes before them, also from a long
// pipeline.
func TestAPipelineOfMessagesKeepsOrder(t *testing.T) {
	n := prototest.StartNode(t, 2)
	listener, speaker := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, listener, "SUBSCRIBE", "c")
	const messages = 3000
	var raw []byte
	for i := range messages {
		raw = respconn.AppendCommand(raw, "SET", "k", fmt.Sprint(i))
		raw = respconn.AppendCommand(raw, "PUBLISH", "c", fmt.Sprint(i))
		raw = respconn.AppendCommand(raw, "GET", "k")
	}
	sent := make(chan error, 1)
	go func() { sent <- speaker.Write(raw) }()
	for i := range messages {
		for _, want := range []string{"+OK", ":1", fmt.Sprintf("%q", fmt.Sprint(i))} {
			if got := readNext(t, speaker); got != want {
				t.Fatalf("reply for %d: %s, not %s", i, got, want)
			}
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		if got := readNext(t, listener); !strings.HasSuffix(got, fmt.Sprintf(`"%d"`, i)) {
			t.Fatalf("message %d: %s", i, got)
		}
	}
}

// The number of subscriptions of a connection is bounded. A command with too many adds none.
// Existing ones do not count again.
func TestSubscriptionsAreBounded(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	const most = 1 << 18
	names := func(verb string, from, to int) []string {
		args := []string{verb}
		for i := from; i < to; i++ {
			args = append(args, fmt.Sprintf("n%d*", i))
		}
		return args
	}
	send := func(args []string, replies int) (last string) {
		t.Helper()
		sent := make(chan error, 1)
		go func() { sent <- c.Send(args...) }()
		for range replies {
			last = readNext(t, c)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		return last
	}
	const refused = "ERR too many subscriptions: a connection may have 262144"
	if got := send(names("SUBSCRIBE", 0, most+1), 1); !strings.Contains(got, refused) {
		t.Errorf("one too many at once: %.200s", got)
	}
	if got := prototest.Do(t, c, "PUBSUB", "CHANNELS", "n1*"); strings.Contains(got, "n1") {
		t.Errorf("a command that was refused has subscribed: %.200s", got)
	}
	send(names("PSUBSCRIBE", 0, 100_000), 100_000)
	if got := send(names("SUBSCRIBE", 0, most-100_000), most-100_000); !strings.HasSuffix(got, fmt.Sprint(most)) {
		t.Errorf("the last that fits: %s", got)
	}
	if got := send(names("PSUBSCRIBE", 99_999, 100_001), 1); !strings.Contains(got, refused) {
		t.Errorf("one too many: %.200s", got)
	}
	if got := send(names("PSUBSCRIBE", 0, 2), 2); !strings.HasSuffix(got, fmt.Sprint(most)) {
		t.Errorf("subscribed again: %s", got)
	}
	// It receives messages, and can soon remove all its subscriptions.
	if got := prototest.Do(t, prototest.Dial(t, n.Addr), "PUBLISH", "n99999*", "x"); got != ":6" {
		t.Errorf("receivers %s", got) // the channel itself, and the patterns n9*, n99*, ...
	}
	for range 6 {
		readNext(t, c)
	}
	if got := send([]string{"PUNSUBSCRIBE"}, 100_000); !strings.HasSuffix(got, fmt.Sprint(most-100_000)) {
		t.Errorf("the last one given up: %s", got)
	}
	c.Close()
	other := prototest.Dial(t, n.Addr)
	prototest.Until(t, "all is given up", func() bool {
		return strings.HasSuffix(strings.TrimSpace(prototest.Do(t, other, "PUBSUB", "NUMSUB", "n0*")), "0")
	})
}

// A subscriber that does not read is cut off at its limit and delays no other client.
func TestASlowSubscriberIsCutOff(t *testing.T) {
	n := prototest.StartNode(t, 1)
	s := *n.Configured.Load()
	s.PubSubOutput.HardBytes = 1 << 20
	n.Configured.Store(&s)
	slow, quick, speaker := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, slow, "SUBSCRIBE", "c")
	prototest.Do(t, quick, "SUBSCRIBE", "c")
	payload := strings.Repeat("x", 64<<10)
	prototest.Until(t, "the slow one is cut off", func() bool {
		receivers := prototest.Do(t, speaker, "PUBLISH", "c", payload)
		if got := readNext(t, quick); !strings.Contains(got, "xxx") {
			t.Fatalf("the quick one heard %.80s", got)
		}
		return receivers == ":1"
	})
	if got := prototest.Do(t, speaker, "PUBSUB", "NUMSUB", "c"); !strings.HasSuffix(strings.TrimSpace(got), ":1") {
		t.Errorf("subscribers: %s", got)
	}
}

// A message that is published before an unsubscription comes before the confirmation: after the
// last one a client of RESP2 takes everything for a reply.
func TestNoMessageComesBehindTheLastConfirmation(t *testing.T) {
	for _, proto := range []string{"2", "3"} {
		for _, giveUp := range [][]string{{"UNSUBSCRIBE", "a"}, {"UNSUBSCRIBE"}} {
			n := prototest.StartNode(t, 1)
			c := prototest.Dial(t, n.Addr)
			prototest.Do(t, c, "HELLO", proto)
			prototest.Do(t, c, "SUBSCRIBE", "a")
			n.OnHub.Store(prototest.Once(func() { n.Messages.Publish(pubsub.Channel, "a", []byte("late")) }))
			if got := prototest.Do(t, c, giveUp...); !strings.Contains(got, "late") {
				t.Errorf("RESP%s, %q: first comes %s", proto, giveUp, got)
			}
			if got := readNext(t, c); !strings.Contains(got, "unsubscribe") {
				t.Errorf("RESP%s, %q: then comes %s", proto, giveUp, got)
			}
			if got := prototest.Do(t, c, "PING"); got != "+PONG" {
				t.Errorf("RESP%s, %q: PING is answered %s", proto, giveUp, got)
			}
		}
	}
}

// Within the replies of a transaction there is no place for messages.
func TestATransactionThatGivesItsChannelsUpLeavesNoMessage(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	for _, args := range [][]string{{"MULTI"}, {"SUBSCRIBE", "a"}, {"UNSUBSCRIBE", "a"}} {
		prototest.Do(t, c, args...)
	}
	heard := 0
	publish := func() { heard += n.Messages.Publish(pubsub.Channel, "a", []byte("late")) }
	n.OnHub.Store(&publish)
	prototest.Do(t, c, "EXEC")
	n.OnHub.Store(nil)
	if got := prototest.Do(t, c, "PING"); got != "+PONG" || heard == 0 {
		t.Errorf("%d messages were heard, and PING is answered %s", heard, got)
	}
}
