package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

func TestOneClientTooManyIsToldSoAndClosed(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Clients.Store(2)
	for range 2 {
		prototest.Do(t, prototest.Dial(t, n.Addr), "PING")
	}
	values, err := prototest.Dial(t, n.Addr).ReadToEnd()
	if err != nil || len(values) != 1 || values[0].String() != "-ERR max number of clients reached" {
		t.Fatal(values, err)
	}
	if n.Stats.RejectedConns.Load() != 1 {
		t.Error("not counted")
	}
}

func TestALongPipelineMayBeSentBeforeAnythingIsRead(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "SET", "big", strings.Repeat("x", 100_000))
	var raw []byte
	const gets = 1000
	for range gets {
		raw = respconn.AppendCommand(raw, "GET", "big")
	}
	// 100 MB of replies: more than the kernel takes for a client that reads
	// nothing.
	// Behind them are more requests than the kernel takes.
	const long = 16 << 20
	for range long / 100_000 {
		raw = respconn.AppendCommand(raw, "SETRANGE", "sent", "0", strings.Repeat("y", 100_000))
	}
	if err := c.Write(append(raw, respconn.Command("INCR", "count")...)); err != nil {
		t.Fatal(err)
	}
	if got := prototest.Do(t, prototest.Dial(t, n.Addr), "PING"); got != "+PONG" {
		t.Error(got)
	}
	for range gets {
		if v, err := c.Read(); err != nil || len(v.Bytes) != 100_000 {
			t.Fatal(err)
		}
	}
	for range long / 100_000 {
		if v, err := c.Read(); err != nil || v.String() != ":100000" {
			t.Fatal(v, err)
		}
	}
	if v, err := c.Read(); err != nil || v.String() != ":1" {
		t.Error(v, err)
	}
}

func TestAClientThatHoardsRepliesIsClosedAndOthersAreNot(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.NormalOutput.HardBytes = 1 << 20 })
	other := prototest.Dial(t, n.Addr)
	prototest.Do(t, other, "SET", "big", strings.Repeat("x", 1<<20))
	c := prototest.Dial(t, n.Addr)
	go func() {
		for c.Send("GET", "big") == nil {
		}
	}()
	prototest.Until(t, "it is closed, and counted", func() bool { return n.Stats.OutputClosed.Load() == 1 })
	prototest.Until(t, "it is forgotten", func() bool { return n.Registry.Len() == 1 })
	if got := prototest.Do(t, other, "PING"); got != "+PONG" {
		t.Error(got)
	}
}

func TestAFaultInOneConnectionEndsThatOneAlone(t *testing.T) {
	n := prototest.StartNode(t, 1)
	other := prototest.Dial(t, n.Addr)
	prototest.Do(t, other, "PING")
	c := prototest.Dial(t, n.Addr)
	if err := c.Send("INFO", "panic"); err != nil {
		t.Fatal(err)
	}
	if values, err := c.ReadToEnd(); err != nil || len(values) != 0 {
		t.Fatal(values, err)
	}
	if got := prototest.Do(t, other, "PING"); got != "+PONG" {
		t.Error(got)
	}
	prototest.Until(t, "it is forgotten", func() bool { return n.Registry.Len() == 1 })
}

func TestAnIdleClientIsClosedWhenTimeoutSaysSo(t *testing.T) {
	t.Parallel()
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.IdleTimeoutSec = 1 })
	if _, err := prototest.Dial(t, n.Addr).ReadToEnd(); err != nil {
		t.Fatal(err)
	}
}

func TestAnIdleClientIsClosedWhenTimeoutIsSetLater(t *testing.T) {
	t.Parallel()
	n := prototest.StartNode(t, 1)
	inLoop, outside := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, inLoop, "PING")
	for range 20 {
		// These batches wait, and are enough to take the client out of its loop.
		prototest.Do(t, outside, "LRANGE", "none", "0", "-1")
	}
	n.Set(func(s *client.Settings) { s.IdleTimeoutSec = 1 })
	for _, c := range []*respconn.Conn{inLoop, outside} {
		if _, err := c.ReadToEnd(); err != nil {
			t.Fatal(err)
		}
	}
}

// If the timeout is removed or made longer, clients that are already idle may stay idle that long.
func TestAnIdleClientStaysWhenTimeoutIsTakenAway(t *testing.T) {
	t.Parallel()
	n := prototest.StartNode(t, 1)
	for _, longer := range []int{0, 600} {
		resting := restWith(t, n, longer)
		// A new client does not use the shorter timeout, which a busy machine may keep for long.
		prototest.Do(t, prototest.Dial(t, n.Addr), "BLPOP", "none", "3.5")
		for _, c := range resting {
			if v, err := c.Do("PING"); err != nil || v.String() != "+PONG" {
				t.Errorf("with a timeout of %d: %s, %v", longer, v, err)
			}
		}
	}
}

// restWith returns two clients, one in a loop and one outside, that became idle under a timeout of
// three seconds before it was made longer.
func restWith(t *testing.T, n *prototest.Node, longer int) []*respconn.Conn {
	for {
		inLoop, outside := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
		for range 20 {
			prototest.Do(t, outside, "LRANGE", "none", "0", "-1")
		}
		begun := time.Now()
		n.Set(func(s *client.Settings) { s.IdleTimeoutSec = 3 })
		inErr, outErr := inLoop.Send("PING"), outside.Send("LRANGE", "none", "0", "-1")
		_, err := inLoop.Read()
		_, err2 := outside.Read()
		n.Set(func(s *client.Settings) { s.IdleTimeoutSec = longer })
		// On a busy machine the timeout may already be over.
		if time.Since(begun) < 2*time.Second {
			if inErr != nil || outErr != nil || err != nil || err2 != nil {
				t.Fatal(inErr, outErr, err, err2)
			}
			return []*respconn.Conn{inLoop, outside}
		}
	}
}

func TestKilledClientsAreGone(t *testing.T) {
	n := prototest.StartNode(t, 1)
	a, b := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	id := prototest.Do(t, b, "CLIENT", "ID")
	if got := prototest.Do(t, a, "CLIENT", "KILL", "ID", id[1:]); got != ":1" {
		t.Fatal(got)
	}
	if _, err := b.ReadToEnd(); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "one is left", func() bool { return n.Registry.Len() == 1 })
	b = prototest.Dial(t, n.Addr)
	prototest.Do(t, b, "PING")
	if got := prototest.Do(t, a, "CLIENT", "KILL", "ADDR", b.Net().LocalAddr().String()); got != ":1" {
		t.Fatal(got)
	}
	if got := prototest.Do(t, a, "CLIENT", "KILL", a.Net().LocalAddr().String()); got != "+OK" {
		t.Fatal(got)
	}
	if _, err := a.ReadToEnd(); err != nil {
		t.Fatal(err)
	}
}

func TestClientListIsReadableForExporters(t *testing.T) {
	n := prototest.StartNode(t, 1)
	// Clients get their ids when they are served, not when they connect.
	a := prototest.Dial(t, n.Addr)
	prototest.Do(t, a, "CLIENT", "SETNAME", "me")
	b := prototest.Dial(t, n.Addr)
	prototest.Do(t, b, "CLIENT", "SETINFO", "LIB-NAME", "lib")
	prototest.Do(t, b, "MULTI")
	prototest.Do(t, b, "PING")
	v, err := a.Do("CLIENT", "LIST")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(v.Bytes), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%q", v.Bytes)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "id=") {
			t.Error(line)
		}
		for field := range strings.SplitSeq(line, " ") {
			if strings.Count(field, "=") != 1 {
				t.Errorf("%q in %q", field, line)
			}
		}
	}
	for _, want := range []string{" name=me ", " cmd=client|list ", " multi=-1 ", " addr=" + a.Net().LocalAddr().String() + " "} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%q is not in %s", want, lines[0])
		}
	}
	for _, want := range []string{" flags=x ", " multi=1 ", " cmd=ping ", " lib-name=lib "} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("%q is not in %s", want, lines[1])
		}
	}
}

func TestClosingWaitsForTheBatchUnderWay(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Server.SetDrainTime(0)
	under, goOn := make(chan struct{}), make(chan struct{})
	wait := sync.OnceFunc(func() { close(under); <-goOn })
	waits := func(int, *cluster.Call) error { wait(); return nil }
	n.Exec.Lost.Store(&waits)
	c := prototest.Dial(t, n.Addr)
	if err := c.Write(append(respconn.Command("SET", "a", "1"), respconn.Command("SET", "b", "1")...)); err != nil {
		t.Fatal(err)
	}
	<-under
	closed := closing(t, n)
	close(goOn)
	<-closed
	for _, want := range []string{"+OK", "+OK"} {
		if v, err := c.Read(); err != nil || v.String() != want {
			t.Fatal(v, err)
		}
	}
	if _, err := c.Read(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// closing starts to close a server, and waits long enough for a Close that is too early.
func closing(t *testing.T, n *prototest.Node) (closed chan struct{}) {
	t.Helper()
	closed = make(chan struct{})
	go func() {
		defer close(closed)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		n.Server.Close(ctx)
	}()
	prototest.Until(t, "it is closing", n.Server.Draining)
	select {
	case <-closed:
		t.Error("it is closed")
	case <-time.After(100 * time.Millisecond):
	}
	return closed
}

// A command that was read just before is under way as well, although it does not count yet.
func TestClosingWaitsForWhatWasRead(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Server.SetDrainTime(0)
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "PING")
	before := n.Stats.In.Load()
	under, goOn := make(chan struct{}), make(chan struct{})
	wait := sync.OnceFunc(func() { close(under); <-goOn })
	// The settings are read between a read and the handling of its input.
	looks := func() {
		if n.Stats.In.Load() > before {
			wait()
		}
	}
	n.OnSettings.Store(&looks)
	if err := c.Send("INCR", "a"); err != nil {
		t.Fatal(err)
	}
	<-under
	closed := closing(t, n)
	n.OnSettings.Store(nil)
	close(goOn)
	if v, err := c.Read(); err != nil || v.String() != ":1" {
		t.Errorf("%v, %v", v, err)
	}
	<-closed
}

// A client that is never idle is not cut off between two commands: its last reply and the end of
// its connection come together. A transaction that has begun is finished.
func TestClosingLeavesNoCommandWithoutAnAnswer(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Server.SetDrainTime(time.Minute)
	// The server accepts clients in the order in which they come: once midway is answered, both are accepted.
	busy, midway := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, midway, "MULTI")
	closed := closing(t, n)
	if got := prototest.Do(t, busy, "INCR", "a"); got != ":1" {
		t.Errorf("the last command: %s", got)
	}
	if v, err := busy.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last reply: %s, %v", v, err)
	}
	if got := prototest.Do(t, midway, "INCR", "a"); got != "+QUEUED" {
		t.Errorf("in the transaction: %s", got)
	}
	if got := prototest.Do(t, midway, "EXEC"); !strings.HasSuffix(got, ":2") {
		t.Errorf("the transaction: %s", got)
	}
	<-closed
}

func TestCommandsAreCounted(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	for i := range 3 {
		prototest.Do(t, c, "SET", "a", fmt.Sprint(i))
	}
	prototest.Do(t, c, "LPOP")
	prototest.Do(t, c, "INCR")
	prototest.Do(t, c, "INCRBY", "a", "x")
	prototest.Do(t, c, "CONFIG", "GET", "x")
	prototest.Do(t, c, "MULTI")
	prototest.Do(t, c, "SET", "b", "1")
	prototest.Do(t, c, "EXEC")
	got := map[string]string{}
	for _, s := range n.Stats.PerCommand() {
		got[s.Name] = fmt.Sprintf("calls %d rejected %d failed %d", s.Calls, s.Rejected, s.Failed)
	}
	for name, want := range map[string]string{
		"set": "calls 4 rejected 0 failed 0", "incr": "calls 0 rejected 1 failed 0", "incrby": "calls 1 rejected 0 failed 1",
		"config|get": "calls 1 rejected 0 failed 0", "exec": "calls 1 rejected 0 failed 0", "multi": "calls 1 rejected 0 failed 0",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if e := n.Stats.PerError(); len(e) != 1 || e[0].Prefix != "ERR" || e[0].Count != 3 {
		t.Error(e)
	}
}

// Each class of clients has its own output limits. 0 means no limit.
func TestOutputLimitsAreThoseOfTheClass(t *testing.T) {
	n := prototest.StartNode(t, 1)
	for _, want := range [][2]client.OutputLimit{{}, {{HardBytes: 1 << 30}, {SoftBytes: 5, SoftSec: 7}}, {{SoftBytes: 5, SoftSec: 7}, {HardBytes: 3}}} {
		n.Set(func(s *client.Settings) { s.NormalOutput, s.PubSubOutput = want[0], want[1] })
		for i, subscribed := range []bool{false, true} {
			l := n.Server.Limits(subscribed)
			if got := (client.OutputLimit{HardBytes: l.OutputHardMax, SoftBytes: l.OutputSoftMax, SoftSec: int(l.OutputSoftTime.Seconds())}); got != want[i] {
				t.Errorf("subscribed %v: %+v, not %+v", subscribed, got, want[i])
			}
		}
	}
}
