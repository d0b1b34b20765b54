package client_test

import (
	"strings"
	"testing"

	"lockstep/cluster"
	"lockstep/tests/kit/prototest"
)

// TestTokens: a token names exactly the shards that the connection has used. A malformed token is
// refused.
func TestTokens(t *testing.T) {
	n := prototest.StartNode(t, 3)
	c := prototest.Dial(t, n.Addr)
	if got := prototest.Do(t, c, "LOCKSTEP", "TOKEN"); got != `""` {
		t.Errorf("a connection that has done nothing: %s", got)
	}
	// The slots of foo and bar, 12182 and 5061, are the test's shards 2 and 0.
	prototest.Do(t, c, "SET", "foo", "1")
	if got := prototest.Do(t, c, "LOCKSTEP", "TOKEN"); got != `"2:1"` {
		t.Errorf("after a write on shard 2: %s", got)
	}
	prototest.Do(t, c, "MULTI")
	prototest.Do(t, c, "SET", "bar", "1")
	prototest.Do(t, c, "EXEC")
	if got := prototest.Do(t, c, "LOCKSTEP", "TOKEN"); got != `"0:1,2:1"` {
		t.Errorf("after a transaction on shard 0: %s", got)
	}
	prototest.Do(t, c, "DBSIZE")
	token := prototest.Do(t, c, "LOCKSTEP", "TOKEN")
	if token != `"0:1,1:0,2:1"` {
		t.Errorf("after a command on all shards: %s", token)
	}
	other := prototest.Dial(t, n.Addr)
	prototest.Do(t, other, "READONLY")
	for _, step := range []struct{ line, want string }{
		{"LOCKSTEP WAITFOR " + strings.Trim(token, `"`), ":1"}, {"LOCKSTEP WAITFOR 2:1 0", ":1"}, {"LOCKSTEP WAITFOR 2:2 1", ":0"}, {"GET foo", `"1"`},
		{"LOCKSTEP TOKEN", `"0:1,1:0,2:1"`}, {"LOCKSTEP STALENESS 250", "+OK"}, {"LOCKSTEP STALENESS 0", "+OK"},
	} {
		if got := prototest.Do(t, other, strings.Fields(step.line)...); got != step.want {
			t.Errorf("%s: %s, not %s", step.line, got, step.want)
		}
	}
	for _, line := range []string{
		"LOCKSTEP WAITFOR x", "LOCKSTEP WAITFOR 3:1", "LOCKSTEP WAITFOR 1:1,1:2", "LOCKSTEP WAITFOR 1:-1", "LOCKSTEP WAITFOR 1:1,", "LOCKSTEP WAITFOR 1:1 -1",
		"LOCKSTEP WAITFOR 1:1 60001", "LOCKSTEP WAITFOR 1:1 1 1", "LOCKSTEP STALENESS x", "LOCKSTEP STALENESS -1", "LOCKSTEP STALENESS 99999999999",
	} {
		if got := prototest.Do(t, other, strings.Fields(line)...); !strings.HasPrefix(got, "-ERR ") {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// TestReadsUnderAWatchAreOfTheLeader: a watched version is current, so a read under a watch must be
// current as well. Otherwise EXEC would overwrite a value that the client has not seen.
func TestReadsUnderAWatchAreOfTheLeader(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "SET", "k", "1")
	staleFails := func(_ int, call *cluster.Call) error { return when(call.Stale, cluster.ErrNoLeader) }
	n.Exec.Lost.Store(&staleFails)
	stale := "-CLUSTERDOWN"
	for _, step := range []struct{ line, want string }{
		{"READONLY", "+OK"}, {"GET k", stale}, {"SCAN 0", stale},
		{"WATCH k", "+OK"}, {"GET k", `"1"`}, {"EXISTS k other", ":1"}, {"MULTI", "+OK"}, {"INCR k", "+QUEUED"}, {"EXEC", "*1"}, {"GET k", stale},
		{"WATCH k", "+OK"}, {"GET k", `"2"`}, {"UNWATCH", "+OK"}, {"GET k", stale},
		{"READWRITE", "+OK"}, {"GET k", `"2"`},
	} {
		if got := prototest.Do(t, c, strings.Fields(step.line)...); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %s, not %s", step.line, got, step.want)
		}
	}
}
