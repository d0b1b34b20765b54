package grow

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

const (
	library = `#!lua name=counts
redis.register_function{function_name='bump', flags={'allow-key-locking'}, callback=function(keys, args) return redis.call('incrby', keys[1], args[1]) end}
redis.register_function{function_name='look', flags={'no-writes', 'allow-key-locking'}, callback=function(keys, args) return redis.call('get', keys[1]) end}`
	program = `return redis.call('incrby', KEYS[1], ARGV[1])`
	// programKeys is large enough that every shard has some of the keys.
	programKeys = 60
)

// TestProgramsGoWhereShardsGo: functions and scripts that were loaded once are on every replica of
// every shard, also after a copy by the log or by a snapshot, on a node that joined later, and
// after a restart of all nodes. The digests of the replicas are equal.
func TestProgramsGoWhereShardsGo(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	o := proc.Options{Shards: shards, Args: []string{"--raft-snapshot-entries", "64", "--raft-trailing-entries", "8", "--raft-log-shared", "yes"}}
	c := proc.NewCluster(t, 3, o)
	l := &load{t: t}
	balanced(t, l, c.Nodes[0], "n1", "n2", "n3")
	first := proc.Dial(t, c.Nodes[0].Addr())
	if got := proc.Do(t, first, "FUNCTION", "LOAD", library); got != `"counts"` {
		t.Fatal(got)
	}
	sha := strings.Trim(proc.Do(t, first, "SCRIPT", "LOAD", program), `"`)
	runPrograms(t, c.Nodes[1], sha, 1)
	// After so many entries no log contains the functions and scripts any more.
	l.begin(c.Nodes[0], 3)
	l.advance(30)

	c.Join(o)
	c.Join(o)
	balanced(t, l, c.Nodes[0], "n1", "n2", "n3", "n4", "n5")
	runPrograms(t, c.Nodes[4], sha, 2)
	for _, gone := range []string{"n2", "n3"} {
		proc.Wait(t, patience, gone+" is removed", func() bool {
			_, err := proc.Ask(c.Nodes[0].Addr(), "LOCKSTEP", "REMOVE", gone)
			return err == nil
		})
	}
	balanced(t, l, c.Nodes[0], "n1", "n4", "n5")
	l.end(nil)
	left := []*proc.Node{c.Nodes[0], c.Nodes[3], c.Nodes[4]}
	for i, n := range left {
		runPrograms(t, n, sha, 3+i)
	}
	verifyPrograms(t, left, 5)

	for _, n := range left {
		n.Kill9()
	}
	for _, n := range left {
		n.Start()
	}
	balanced(t, l, left[0], "n1", "n4", "n5")
	runPrograms(t, left[1], sha, 6)
	verifyPrograms(t, left, 6)
}

// runPrograms increments every key twice, by the function and by the script. times is the number of
// its calls so far, with this one.
func runPrograms(t *testing.T, n *proc.Node, sha string, times int) {
	t.Helper()
	conn := proc.Dial(t, n.Addr())
	for i := range programKeys {
		key := fmt.Sprint("programs:", i)
		if got, want := proc.Do(t, conn, "FCALL", "bump", "1", key, "1"), fmt.Sprint(":", 2*times-1); got != want {
			t.Fatalf("FCALL through %s: %s is %s, want %s", n.Name, key, got, want)
		}
		if got, want := proc.Do(t, conn, "EVALSHA", sha, "1", key, "1"), fmt.Sprint(":", 2*times); got != want {
			t.Fatalf("EVALSHA through %s: %s is %s, want %s", n.Name, key, got, want)
		}
	}
}

// verifyPrograms waits until the replicas of all nodes have the same libraries and digests, and
// reads by the function through every node.
func verifyPrograms(t *testing.T, nodes []*proc.Node, times int) {
	t.Helper()
	libraries, digests := map[string]string{}, map[string]string{}
	same := func() bool {
		clear(libraries)
		clear(digests)
		for _, n := range nodes {
			conn := proc.Dial(t, n.Addr())
			libraries[proc.Do(t, conn, "FUNCTION", "LIST", "WITHCODE")] = n.Name
			conn.Close()
			digest, err := proc.Digest(n.Addr())
			if err != nil {
				return false
			}
			digests[digest] = n.Name
		}
		return len(digests) == 1 && len(libraries) == 1
	}
	if !proc.Poll(patience, same) {
		t.Fatalf("replicas differ: %v, %v", digests, libraries)
	}
	want := fmt.Sprintf("%q", fmt.Sprint(2*times))
	for _, n := range nodes {
		conn := proc.Dial(t, n.Addr())
		proc.Do(t, conn, "READONLY")
		for i := range programKeys {
			if got := proc.Do(t, conn, "FCALL_RO", "look", "1", fmt.Sprint("programs:", i)); got != want {
				t.Errorf("the replica of %s: key %d is %s, want %s", n.Name, i, got, want)
			}
		}
	}
}
