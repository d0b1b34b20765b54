package linear

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"lockstep/tests/kit/respconn"
)

// Names of ops that take more than one command, or a script. The other names are Redis's.
const (
	// opCompareAndSet is a script that sets the register to Arg if its value is Expect.
	opCompareAndSet = "COMPAREANDSET"
	// opQuota is a script that increments the counter up to quotaLimit. Its commands are atomic
	// (B1).
	opQuota = "QUOTA"
	// opWatched is WATCH, GET and a transaction that increments the counter.
	opWatched = "WATCHED"
	// opPair is a transaction that increments two counters. opPairRead reads both, and never sees
	// only one of the increments (D11).
	opPair     = "PAIR"
	opPairRead = "PAIRREAD"
	// opTransitPush and opTransitMove are RPUSH to one list and BLMOVE from there to
	// another.
	opTransitPush = "TRANSITPUSH"
	opTransitMove = "TRANSITMOVE"
	// opBrief is SET of a key that lives for Arg milliseconds, opBriefRead its GET.
	opBrief     = "BRIEF"
	opBriefRead = "BRIEFREAD"
	// opBurst is several INCR in one write, each an op of its own.
	opBurst = "BURST"
	// opEntryTake is XREADGROUP of one entry, and opEntryAck the XACK that follows.
	opEntryAdd  = "XADD"
	opEntryTake = "XREADGROUP"
	opEntryAck  = "XACK"
	// opDear is a script, in Expect, that increments a counter after Arg rounds of a loop.
	opDear = "DEAR"
	// opSpare is SET of a large value that may be evicted, opSpareRead GET.
	opSpare     = "SPARE"
	opSpareRead = "SPAREREAD"
)

const (
	// quotaLimit is the limit of a quota.
	quotaLimit = 15
	// burst is how many commands an opBurst has.
	burst = 6

	compareAndSetScript = `#!lua flags=allow-key-locking
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[2])
return 1`
	quotaScript = `#!lua flags=allow-key-locking
if tonumber(redis.call('get', KEYS[1]) or '0') >= tonumber(ARGV[1]) then return false end
return redis.call('incr', KEYS[1])`
)

// The first letters of a key are its kind; all other keys are registers.
const (
	counterPrefix = "counter"
	quotaPrefix   = "quota"
	pairPrefix    = "pair"
	listPrefix    = "list"
	transitPrefix = "transit"
	briefPrefix   = "brief"
	streamPrefix  = "stream"
	sparePrefix   = "spare"
)

// otherPrefixes are the prefixes of all keys except registers.
var otherPrefixes = []string{counterPrefix, quotaPrefix, pairPrefix, listPrefix, transitPrefix, briefPrefix, streamPrefix, sparePrefix}

// popTimeoutsSec are the timeouts of a pop, in the format of BLPOP. Few are long enough for the
// leader to change meanwhile.
var popTimeoutsSec = []string{"0.1", "0.1", "0.1", "3"}

// blocksMs are the timeouts of XREADGROUP; with "" it does not block.
var blocksMs = []string{"", "", "100", "2000"}

// spareValue is the value of every spare key.
var spareValue = strings.Repeat("spare", 13<<10)

// isRegister reports whether the register checker checks the key.
func (o *Op) isRegister() bool {
	for _, prefix := range otherPrefixes {
		if strings.HasPrefix(o.Key, prefix) {
			return false
		}
	}
	return true
}

// increments reports whether the op increments a counter and returns its value.
func (o *Op) increments() bool {
	return o.Name == "INCR" || o.Name == opWatched || o.Name == opPair || o.Name == opQuota || o.Name == opDear
}

// isWrite distinguishes writes, whose unknown outcomes count, from reads.
func (o *Op) isWrite() bool {
	return o.Name != "GET" && o.Name != opPairRead && o.Name != opBriefRead && o.Name != opSpareRead
}

// draw chooses a client's next command at random. seen is the register value that the client saw
// last. Written values are unique.
func (w *workload) draw(r *rand.Rand, id, sequence int, seen string) Op {
	o := Op{Client: id}
	generation := w.history.Now() / generationNs
	kind := r.IntN(27)
	switch {
	case kind < 4:
		o.Name, o.Key = "INCR", fmt.Sprint(counterPrefix, r.IntN(counters))
	case kind < 5:
		o.Name, o.Key = opWatched, fmt.Sprint(counterPrefix, r.IntN(counters))
	case kind < 6:
		o.Name, o.Key = [...]string{opPair, opPairRead}[r.IntN(2)], fmt.Sprint(pairPrefix, r.IntN(pairs))
	case kind < 7:
		o.Name, o.Key = opQuota, fmt.Sprintf("%s%d-%d", quotaPrefix, generation, r.IntN(quotas))
	case kind < 9:
		o.Name, o.Key = [...]string{"RPUSH", "BLPOP"}[r.IntN(2)], fmt.Sprint(listPrefix, r.IntN(lists))
	case kind < 10:
		o.Name, o.Key = opBurst, fmt.Sprint(counterPrefix, r.IntN(counters))
	case kind < 12:
		o.Name, o.Key = [...]string{opTransitPush, opTransitMove}[r.IntN(2)], fmt.Sprint(transitPrefix, r.IntN(transits))
	case kind < 14:
		o.Name, o.Key = opBriefRead, w.briefs.one(r.IntN(1<<20))
		if r.IntN(3) == 0 || o.Key == "" {
			o.Name, o.Key, o.Arg = opBrief, fmt.Sprintf("%s%d.%d", briefPrefix, id, sequence), strconv.Itoa(200+r.IntN(1500))
		}
	case kind < 16:
		o.Name, o.Key = [...]string{opEntryAdd, opEntryTake}[r.IntN(2)], fmt.Sprint(streamPrefix, r.IntN(streams))
	case kind < 17 && w.evicts:
		o.Name, o.Key = opSpareRead, w.spares.one(r.IntN(1<<20))
		if r.IntN(2) == 0 || o.Key == "" {
			o.Name, o.Key, o.Arg = opSpare, fmt.Sprintf("%s%d.%d", sparePrefix, id, sequence), "3600000"
		}
	default:
		o.Key = fmt.Sprintf("r%d-%d", generation, r.IntN(registers))
		o.Name = [...]string{"GET", "GET", "GET", "SET", "SET", "GETSET", "SETNX", "DEL", opCompareAndSet}[r.IntN(9)]
	}
	switch o.Name {
	case opCompareAndSet:
		o.Expect = seen
		fallthrough
	case "SET", "GETSET", "SETNX", "RPUSH", opTransitPush, opEntryAdd:
		o.Arg = fmt.Sprintf("%d.%d", id, sequence)
	case "BLPOP", opTransitMove:
		o.Arg = popTimeoutsSec[r.IntN(len(popTimeoutsSec))]
	case opEntryTake:
		o.Arg = blocksMs[r.IntN(len(blocksMs))]
	}
	return o
}

// perform runs an op and returns its reply. If a transaction on watched keys did not run, perform
// also sets the op's outcome.
func (w *workload) perform(conn *respconn.Conn, o *Op) (respconn.Value, error) {
	switch o.Name {
	case opCompareAndSet:
		return conn.Do("EVAL", compareAndSetScript, "1", o.Key, o.Expect, o.Arg)
	case opDear:
		return conn.Do("EVAL", o.Expect, "1", o.Key, o.Arg)
	case opQuota:
		return conn.Do("EVAL", quotaScript, "1", o.Key, strconv.Itoa(quotaLimit))
	case "BLPOP":
		v, err := conn.Do("BLPOP", o.Key, o.Arg)
		if err == nil && len(v.Elems) == 2 {
			v = v.Elems[1]
		}
		return v, err
	case opTransitPush:
		in, _ := transitKeys(o.Key)
		return conn.Do("RPUSH", in, o.Arg)
	case opTransitMove:
		in, out := transitKeys(o.Key)
		return conn.Do("BLMOVE", in, out, "LEFT", "RIGHT", o.Arg)
	case opBrief:
		w.briefs.wrote(o.Key)
		return conn.Do("SET", o.Key, "v", "PX", o.Arg)
	case opBriefRead:
		return conn.Do("GET", o.Key)
	case opSpare:
		w.spares.wrote(o.Key)
		return conn.Do("SET", o.Key, spareValue, "PX", o.Arg)
	case opSpareRead:
		v, err := conn.Do("STRLEN", o.Key)
		v.Null = string(v.Bytes) == "0"
		return v, err
	case opEntryAdd:
		return conn.Do("XADD", o.Key, "*", "v", o.Arg)
	case opEntryTake:
		return w.takeEntry(conn, o)
	case opBurst:
		return w.burst(conn, o)
	case opWatched:
		return w.watched(conn, o)
	case opPair:
		a, b := pairKeys(o.Key)
		return w.transaction(conn, o, []string{"INCR", a}, []string{"INCR", b})
	case opPairRead:
		a, b := pairKeys(o.Key)
		v, err := conn.Do("MGET", a, b)
		return w.both(o, v), err
	}
	args := []string{o.Name, o.Key}
	if o.Arg != "" {
		args = append(args, o.Arg)
	}
	return conn.Do(args...)
}

// burst sends several increments in one write and records all except the last of them, which the
// caller records.
func (w *workload) burst(conn *respconn.Conn, o *Op) (last respconn.Value, err error) {
	o.Name = "INCR"
	commands := make([][]string, burst)
	for i := range commands {
		commands[i] = []string{"INCR", o.Key}
	}
	replies, err := conn.Pipeline(commands...)
	earlier := int64(0)
	for i := range burst {
		one := *o
		one.Return, one.Outcome = w.history.Now(), Unknown
		if i < len(replies) {
			last = replies[i]
			w.judge(&one, last)
		}
		if one.Outcome == Done {
			n, _ := strconv.ParseInt(one.Reply, 10, 64)
			if n <= earlier {
				w.report("client %d of %s: INCR %s: %d behind %d in one write", o.Client, o.Node, o.Key, n, earlier)
			}
			earlier = n
		}
		if i < burst-1 {
			w.history.Add(one)
		}
	}
	return last, err
}

// pairKeys are two keys of one hash slot.
func pairKeys(pair string) (a, b string) { return "{" + pair + "}a", "{" + pair + "}b" }

// both is the common value of the two counters of a pair.
func (w *workload) both(o *Op, v respconn.Value) respconn.Value {
	if v.IsError() || len(v.Elems) == 0 {
		return v
	}
	if a, b := v.Elems[0], v.Elems[len(v.Elems)-1]; a.String() != b.String() {
		w.report("client %d of %s: %s %s: %s beside %s: half of a transaction", o.Client, o.Node, o.Name, o.Key, a, b)
	}
	return v.Elems[0]
}

// watched increments a counter if no other client writes it between the read and EXEC. The op takes
// effect at EXEC at the earliest, so its call is set there.
func (w *workload) watched(conn *respconn.Conn, o *Op) (respconn.Value, error) {
	o.Outcome = Refused
	if v, err := conn.Do("WATCH", o.Key); err != nil || v.IsError() {
		return v, err
	}
	v, err := conn.Do("GET", o.Key)
	if err == nil && v.IsError() {
		_, err = conn.Do("UNWATCH")
	}
	if err != nil || v.IsError() {
		return v, err
	}
	old, _ := strconv.ParseInt(string(v.Bytes), 10, 64)
	o.Outcome, o.Call = "", w.history.Now()
	next := strconv.FormatInt(old+1, 10)
	v, err = w.transaction(conn, o, []string{"SET", o.Key, next})
	if v.Null {
		o.Outcome = Refused
	} else if err == nil && !v.IsError() {
		v = respconn.Value{Kind: ':', Bytes: []byte(next)}
	}
	return v, err
}

// transaction runs commands in MULTI and EXEC. The first and the last result must agree.
func (w *workload) transaction(conn *respconn.Conn, o *Op, commands ...[]string) (respconn.Value, error) {
	all := append(append([][]string{{"MULTI"}}, commands...), []string{"EXEC"})
	replies, err := conn.Pipeline(all...)
	if err != nil {
		return respconn.Value{}, err
	}
	for _, v := range replies[:len(replies)-1] {
		if v.IsError() {
			return v, nil
		}
	}
	return w.both(o, replies[len(replies)-1]), nil
}
