package differential

import (
	"math/rand/v2"
	"slices"
	"strings"

	"lockstep/tests/kit/respconn"
)

// stateLines are the commands of one connection, in any order: commands that change the
// connection's state, and commands whose answers depend on it. A line that occurs several times is
// drawn more often.
var stateLines = strings.Split(strings.TrimSpace(`
MULTI
MULTI
MULTI
EXEC
EXEC
EXEC
DISCARD
WATCH k
WATCH k l j
UNWATCH
RESET
RESET now
QUIT
SELECT 0
SELECT 1
SELECT 99
SELECT x
SWAPDB 0 1
MOVE k 1
PING
PING x
PING a b
ECHO x
ECHO
SUBSCRIBE a
SUBSCRIBE a a
SUBSCRIBE
PSUBSCRIBE p* p*
SSUBSCRIBE s
UNSUBSCRIBE
UNSUBSCRIBE a nosuch a
PUNSUBSCRIBE
PUNSUBSCRIBE p*
SUNSUBSCRIBE
SUNSUBSCRIBE s
PUBLISH nobody m
SPUBLISH nobody m
PUBLISH nobody
CLIENT REPLY ON
CLIENT REPLY ON
CLIENT REPLY OFF
CLIENT REPLY SKIP
CLIENT REPLY SKIP
CLIENT REPLY MAYBE
CLIENT REPLY
CLIENT SETNAME me
CLIENT SETNAME "a b"
CLIENT GETNAME
CLIENT NO-EVICT ON
CLIENT NO-EVICT MAYBE
CLIENT CACHING YES
CLIENT CACHING MAYBE
CLIENT GETREDIR
CLIENT TRACKINGINFO
CLIENT TRACKING OFF
CLIENT TRACKING ON REDIRECT 99999999999
CLIENT TRACKING ON OPTIN OPTOUT
CLIENT TRACKING ON PREFIX a
CLIENT UNBLOCK 99999999999
CLIENT UNBLOCK x
CLIENT KILL ID 99999999999
CLIENT KILL TYPE pubsub SKIPME no
CLIENT KILL TYPE pubsub SKIPME
CLIENT KILL nowhere
CLIENT NOSUCH
CLIENT
AUTH secret
AUTH limited secret
AUTH limited wrong
AUTH default any
AUTH a b c
HELLO
HELLO 2
HELLO 3
HELLO 3
HELLO 4
HELLO x
HELLO 3 SETNAME me
HELLO 3 SETNAME "a b"
HELLO 3 NOSUCH
HELLO 3 AUTH limited secret
HELLO 3 AUTH limited wrong SETNAME me
HELLO 2 AUTH limited
ACL WHOAMI
ACL NOSUCH
SET k v
SET k 1
SET k
SET k v EX
GET k
GET j
GET
INCR k
APPEND k 1
LPUSH l a b
LPOP l
LRANGE l 0 -1
HSET h f 1
HGETALL h
SADD s a
SMEMBERS s
ZADD z 1.5 a
ZRANGE z 0 -1 WITHSCORES
ZSCORE z a
EXISTS k l h s z
DEL k l h s z x
FLUSHDB
FLUSHALL ASYNC
TYPE k
EXPIRE k 10000
PERSIST k
MSET k 1 j 2
DBSIZE
GETRANGE k 0
OBJECT ENCODING k
OBJECT NOSUCH
CONFIG GET hash-max-listpack-entries
CONFIG SET nosuch 1
CONFIG GET
BLPOP l 0.01
BLPOP nosuch k 0.01
BLPOP l x
BLPOP l -1
BRPOPLPUSH l l 0.01
BLMOVE l m LEFT RIGHT 0.01
BZPOPMIN z 0.01
BLMPOP 0.01 1 l LEFT
XADD x 1-1 f v
XREAD BLOCK 5 STREAMS x 0
XREAD BLOCK 5 STREAMS x $
XLEN x
EVAL "return redis.call('incr', KEYS[1])" 1 k
EVAL "return {1, 2.5, 'x', {true, false}, {ok='fine'}}" 0
EVAL "redis.setresp(3); return redis.call('hgetall', KEYS[1])" 1 h
EVAL "return redis.call('set', KEYS[1], 'v')" 1 j
EVAL_RO "return redis.call('get', KEYS[1])" 1 k
EVALSHA ffffffffffffffffffffffffffffffffffffffff 0
EVAL "return 1" 5 k
EVAL "return 1"
FCALL nosuch 0
SCRIPT EXISTS ffffffffffffffffffffffffffffffffffffffff
SCRIPT NOSUCH
FUNCTION NOSUCH
SHUTDOWN SAVE NOSAVE
SHUTDOWN ABORT
LASTSAVE now
SLOWLOG NOSUCH
LATENCY NOSUCH
NOSUCH a b
NOSUCH
SORT l ALPHA
LCS k j LEN
`), "\n")

// closers begin the lines that end the connection, or may end it.
var closers = []string{"QUIT", "CLIENT KILL TYPE"}

func closes(line string) bool {
	return slices.ContainsFunc(closers, func(c string) bool { return strings.HasPrefix(line, c) })
}

// drawLines draws the commands of one connection. HELLO does not come between MULTI and EXEC, where
// it takes effect at another moment. SWAPDB does not come with WATCH, for which it counts as a
// change of all keys (docs/compatibility.md). The end of the connection does not come after CLIENT
// REPLY, because redis-server waits to close it until it has sent a reply.
func drawLines(r *rand.Rand) []string {
	const linesMax = 24
	var lines []string
	queueing, watching, muting := false, false, false
	for range 1 + r.IntN(linesMax) {
		line := stateLines[r.IntN(len(stateLines))]
		switch line {
		case "MULTI":
			queueing = true
		case "EXEC", "DISCARD", "RESET":
			queueing = false
		}
		if queueing && strings.HasPrefix(line, "HELLO") || watching && strings.HasPrefix(line, "SWAPDB") {
			continue
		}
		if muting && closes(line) {
			continue
		}
		muting = muting || strings.HasPrefix(line, "CLIENT REPLY")
		watching = watching || strings.HasPrefix(line, "WATCH")
		lines = append(lines, line)
	}
	return lines
}

// rawLines encodes lines, a few of them inline, some words in lower case. The same lines always
// give the same bytes.
func rawLines(lines []string) []byte {
	var raw []byte
	for _, line := range lines {
		if line == "" {
			continue
		}
		r := rand.New(rand.NewPCG(uint64(len(line)), uint64(line[0])))
		args, err := respconn.Split(line)
		if err != nil {
			panic(err)
		}
		switch r.IntN(8) {
		case 0:
			raw = append(append(raw, line...), "\r\n"...)
			continue
		case 1:
			args[0] = strings.ToLower(args[0])
		}
		raw = respconn.AppendCommand(raw, args...)
	}
	return raw
}
