package differential

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep/tests/kit/respconn"
)

// Exception is an answer that need not be the same byte for byte, with the reason.
// docs/compatibility.md quotes the table.
type Exception struct {
	// Command is the command's name, in capitals, with its subcommand if the exception is only for
	// that.
	Command string
	// What is compared instead, and Reason is why.
	What, Reason string

	canonical func(respconn.Value) string
}

// Exceptions are all exceptions.
var Exceptions = slices.Concat(generalExceptions, hashExceptions)

var generalExceptions = []Exception{
	{"EXEC", "whether it runs when it is tried again, if Redis ran it", "whether a watched key that does not exist was there meanwhile is remembered for a bounded number of deletions; beyond that EXEC answers null, as if it was", func(v respconn.Value) string { return string(v.Raw) }},
	{"KEYS", "the keys, sorted", "Redis promises no order; it follows the hash seed of the process", canonicalSet},
	{"SCAN", "the keys of a whole walk, sorted", "cursors are opaque; here they are the same on every node", canonicalScan},
	{"RANDOMKEY", "whether there is one", "the choice is random in Redis, and a function of the log here", nullOrNot},
	{"SMEMBERS", "the members, sorted", "Redis promises no order; here it is that of insertion, of numbers, or of hashes", canonicalSet},
	{"SINTER", "the members, sorted", "as SMEMBERS", canonicalSet},
	{"SUNION", "the members, sorted", "as SMEMBERS", canonicalSet},
	{"SDIFF", "the members, sorted", "as SMEMBERS", canonicalSet},
	{"SSCAN", "the members of a whole walk, sorted", "as SCAN", canonicalScan},
	{"SRANDMEMBER", "how many", "the choice is random in Redis, and a function of the log here", canonicalCount},
	{"SPOP", "the members, sorted, where it takes all", "as SRANDMEMBER", canonicalSet},
	{"ZSCAN", "the members and scores of a whole walk, sorted, the scores as numbers", "cursors are opaque, and the order is that of hashes; 1e17 is written so in a skiplist and in full in a listpack, and SORT of Redis turns the sorted set it reads into a skiplist", canonicalScores},
	{"ZRANDMEMBER", "how many", "the choice is random in Redis, and a function of the log here", canonicalCount},
	{"DUMP", "whether there is one", "a string may be written compressed, as an integer, or plainly; RESTORE takes all of them", nullOrNot},
	{"OBJECT REFCOUNT", "whether it is a number", "how Redis shares memory: inside a transaction the queued command holds a reference too", numberOrNot},
	{"OBJECT IDLETIME", "whether it is a number", "seconds since the last use on that server", numberOrNot},
	{"OBJECT ENCODING", "int and embstr count as one, and so do listpack, quicklist, skiplist and hashtable", "a whole number is an integer here, also one that INCRBYFLOAT wrote, which is a text in Redis; small lists and sets are listpacks here, as since Redis 7.2; SORT of Redis turns the sorted set it reads into a skiplist", encodingClass},
	{"SORT", "elements up to their first zero byte", collationReason, upToZero},
	{"SORT_RO", "as SORT", collationReason, upToZero},
	{"TTL", "whether it is positive", "no two clocks read the same", positiveOrNot},
	{"PTTL", "whether it is positive", "no two clocks read the same", positiveOrNot},
	{"EXPIRETIME", "exactly, if it was set as an absolute time", "a relative one is added to the server's clock", absoluteOrPositive(1000)},
	{"XGROUP CREATECONSUMER", "whether it is a number", consumersReason, numberOrNot},
	{"XINFO CONSUMERS", "the consumers that have pending entries, and how many", consumersReason + "; and no two clocks read the same", consumersWithPending},
	{"XINFO GROUPS", "names, pending entries and last delivered IDs", consumersReason + "; and " + lagReason, groupsWithoutLag},
	{"XINFO STREAM", "with FULL, what it says of the stream and its entries, and of groups and pending entries what does not go by the clock", consumersReason + "; and " + lagReason, streamInfo},
	{"XPENDING", "all but the idle times", "no two clocks read the same", pendingWithoutTimes},
	{"PEXPIRETIME", "exactly, if it was set as an absolute time", "a relative one is added to the server's clock", absoluteOrPositive(1)},
}

const collationReason = "ALPHA compares by the C library, which sees nothing behind a zero byte; what is equal to it comes in the order of a hash table with a seed per process"

// upToZero returns an array's elements in order, each up to its first zero byte.
func upToZero(v respconn.Value) string {
	text := fmt.Sprintf("%c%d", v.Kind, len(v.Elems))
	if len(v.Elems) == 0 {
		return string(v.Raw)
	}
	for _, e := range v.Elems {
		head, _, _ := bytes.Cut(e.Bytes, []byte{0})
		text += fmt.Sprintf(" %c%v%q", e.Kind, e.Null, head)
	}
	return text
}

// withSubcommands are the commands whose exceptions are for a subcommand.
var withSubcommands = map[string]bool{"OBJECT": true, "XINFO": true, "XGROUP": true}

// findException returns the exception for a command, or nil for most.
func findException(o op) *Exception {
	full := o.name()
	if withSubcommands[full] && len(o.args) > 1 {
		full += " " + strings.ToUpper(o.args[1])
	}
	for i := range Exceptions {
		if Exceptions[i].Command == full {
			return &Exceptions[i]
		}
	}
	return nil
}

// canonical returns the part of a reply that must be the same on both servers.
func canonical(o op, v respconn.Value) string {
	if e := findException(o); e != nil && !v.IsError() && string(v.Raw) != "+QUEUED\r\n" {
		return e.canonical(v)
	}
	return string(v.Raw)
}

// canonicalExec is canonical for EXEC: each element of the reply belongs to a queued command.
func canonicalExec(queued []op, v respconn.Value) string {
	if len(queued) != len(v.Elems) {
		return string(v.Raw)
	}
	text := fmt.Sprintf("%c%d", v.Kind, len(v.Elems))
	for i, e := range v.Elems {
		text += "\n" + canonical(queued[i], e)
	}
	return text
}

// queues are the queued commands of all connections, according to the answers of redis-server.
type queues [connections][]op

// take records a command and its answer. If the command was an EXEC, it returns the commands that
// were queued.
func (q *queues) take(o op, answer respconn.Value) []op {
	queued := q[o.conn]
	switch {
	case string(answer.Raw) == "+QUEUED\r\n":
		q[o.conn] = append(queued, o)
	case o.name() == "EXEC", o.name() == "DISCARD", o.name() == "RESET":
		q[o.conn] = nil
	}
	if o.name() != "EXEC" {
		return nil
	}
	return queued
}

func canonicalSet(v respconn.Value) string {
	all := make([]string, 0, len(v.Elems))
	for _, e := range v.Elems {
		all = append(all, string(e.Raw))
	}
	slices.Sort(all)
	return fmt.Sprintf("%c%q", v.Kind, all)
}

func canonicalScan(v respconn.Value) string {
	if len(v.Elems) != 2 {
		return string(v.Raw)
	}
	return string(v.Elems[0].Raw) + canonicalSet(v.Elems[1])
}

// canonicalScores is canonicalScan for members with scores.
func canonicalScores(v respconn.Value) string {
	if len(v.Elems) != 2 {
		return string(v.Raw)
	}
	var pairs []string
	elems := v.Elems[1].Elems
	for i := 0; i+1 < len(elems); i += 2 {
		score, err := strconv.ParseFloat(string(elems[i+1].Bytes), 64)
		pairs = append(pairs, fmt.Sprintf("%q %v %v", elems[i].Raw, score, err))
	}
	slices.Sort(pairs)
	return string(v.Elems[0].Raw) + fmt.Sprintf("%c%d%q", v.Elems[1].Kind, len(elems), pairs)
}

func nullOrNot(v respconn.Value) string {
	if v.Null {
		return string(v.Raw)
	}
	return fmt.Sprintf("%c...", v.Kind)
}

var number = regexp.MustCompile(`^:\d+\r\n$`)

func numberOrNot(v respconn.Value) string {
	if number.Match(v.Raw) {
		return ":N"
	}
	return string(v.Raw)
}

func encodingClass(v respconn.Value) string {
	switch string(v.Bytes) {
	case "int", "embstr":
		return "int or embstr"
	case "listpack", "quicklist", "skiplist", "hashtable":
		return "listpack, quicklist, skiplist or hashtable"
	}
	return string(v.Raw)
}

func positiveOrNot(v respconn.Value) string {
	if number.Match(v.Raw) && !bytes.Equal(v.Raw, []byte(":0\r\n")) {
		return ":positive"
	}
	return string(v.Raw)
}

func absoluteOrPositive(unit int64) func(respconn.Value) string {
	return func(v respconn.Value) string {
		n, err := strconv.ParseInt(string(v.Bytes), 10, 64)
		if v.Kind != ':' || err != nil || n < 0 || n >= farFutureMs/unit {
			return string(v.Raw)
		}
		return ":relative"
	}
}
