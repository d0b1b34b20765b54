package badinput

import (
	"bytes"
	"slices"
	"strings"

	"lockstep/tests/kit/respconn"
)

// sweepDifference is an answer that differs from redis-server 7.0's, with the reason.
type sweepDifference struct {
	// commands are names in the table, or beginnings of names.
	commands []string
	// ours is a part of our answer.
	ours, reason string
}

// waiting are the commands that take a timeout.
var waiting = []string{"blpop", "brpop", "blmpop", "blmove", "brpoplpush", "bzpop", "bzmpop", "xread"}

// sweepDifferences are all differences that the sweep may find.
var sweepDifferences = []sweepDifference{
	{[]string{"lrem", "lpos"}, "-ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807", "as Redis 7.2, which refuses -2^63; 7.0 changes its sign, which leaves it as it is"},
	{waiting, "-ERR timeout is out of range", "as Redis 7.2; in 7.0 such a time overflows, and is negative or past"},
	{[]string{"xread"}, "-ERR Unbalanced 'xread", "as Redis 7.2, whose text names the command"},
	{[]string{"cluster", "readonly", "readwrite", "asking"}, "", "redis-server runs without cluster mode here"},
	{[]string{"eval", "script|load"}, "-ERR Error compiling script", "a syntax error is told in the interpreter's words (docs/compatibility.md)"},
	{[]string{"script|debug"}, "-ERR Use SCRIPT DEBUG YES/SYNC/NO", "redis-server wants no pipeline around it"},
	{[]string{"script|debug"}, "+OK", "as before"},
	{[]string{"command|getkeys"}, "-ERR Unbalanced", "as Redis 7.2, whose text names the command"},
}

// differenceOf returns the listed difference that an answer belongs to, or nil.
func differenceOf(name string, ours respconn.Value) *sweepDifference {
	for i := range sweepDifferences {
		d := &sweepDifferences[i]
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if slices.ContainsFunc(d.commands, begins) && strings.Contains(ours.String(), d.ours) {
			return d
		}
	}
	return nil
}

// byKind are commands of which only the kind of an answer is compared, unless it is an error: the
// answers are drawn at random, have the order of a hash table, depend on a clock, or describe the
// server.
var byKind = strings.Fields(`spop srandmember hrandfield zrandmember randomkey smembers sscan sinter sunion sdiff
	hgetall hkeys hvals hscan zscan scan time lolwut role lastsave info ttl pttl expiretime pexpiretime dump dbsize keys
	object|idletime object|freq object|refcount object|encoding memory|usage memory|stats memory|doctor memory|purge
	memory|malloc-stats command command|count command|docs command|info command|list config|get slowlog|get slowlog|len
	latency|latest latency|histogram latency|history latency|graph latency|doctor latency|reset client|id client|info
	client|list client|trackinginfo xinfo|consumers xinfo|groups xinfo|stream xinfo|help xgroup|help object|help
	xpending xautoclaim publish spublish acl|genpass acl|log acl|cat`)

// sameAnswer compares two answers to a command. If an error quotes a zero byte, Redis's text ends
// there, because it is a C string.
func sameAnswer(name string, ours, theirs respconn.Value) bool {
	if bytes.Equal(ours.Raw, theirs.Raw) {
		return true
	}
	if ours.IsError() && theirs.IsError() {
		head, tail, cut := bytes.Cut(ours.Bytes, []byte{0})
		return cut && bytes.Equal(append(bytes.Clone(head), tail...), theirs.Bytes)
	}
	return ours.IsError() == theirs.IsError() && ours.Kind == theirs.Kind && slices.Contains(byKind, name)
}

// endless are commands that would keep redis-server busy for ever: it returns as many members as a
// negative count asks for, and waits for replicas that never come.
func endless(name string, v variant) bool {
	const short = 5
	switch name {
	case "srandmember", "hrandfield", "zrandmember":
		return len(v.args) > 2 && len(v.args[2]) > short && v.args[2][0] == '-'
	case "wait":
		return len(v.args) > 2 && v.args[1] != "0" && v.args[2] != "1"
	}
	return false
}
