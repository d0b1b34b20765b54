package fsm

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/script"
)

// simScripts are scripts of the determinism run: some depend on random numbers, on time, or on the
// order of tables; some write and fail in the middle; and some do not end by themselves.
var simScripts = []string{
	`return redis.call('incr', KEYS[1])`,
	`#!lua flags=allow-key-locking
	redis.call('append', KEYS[1], ARGV[1]) return redis.call('strlen', KEYS[1])`,
	`#!lua flags=allow-key-locking
	return redis.pcall('set', ARGV[1], ARGV[2])`,
	`#!lua flags=no-writes,allow-key-locking
	return redis.call('get', KEYS[1])`,
	`#!lua flags=no-writes
	return {redis.call('dbsize'), redis.call('keys', '*')}`,
	`redis.call('sadd', KEYS[1], ARGV[1], ARGV[2]) return redis.call('spop', KEYS[1])`,
	`local t = redis.call('time') redis.call('set', KEYS[1], t[1] .. t[2] .. math.random(1e9) .. tostring({}), 'px', ARGV[1]) return t`,
	`local out = {} for k, v in pairs({a = 1, b = 2, c = 3, 4, 5}) do out[#out + 1] = tostring(k) .. tostring(v) end redis.call('set', KEYS[1], cjson.encode(out) .. cmsgpack.pack(out))`,
	`redis.call('select', ARGV[1]) redis.call('rpush', KEYS[1], redis.call('randomkey') or 'none') return redis.call('lrange', KEYS[1], 0, -1)`,
	`redis.call('set', KEYS[1], 1) redis.call('lpush', KEYS[1], 2)`,
	`redis.call('set', KEYS[1], 1) error({err = 'MINE in the middle'})`,
	`local n = 0 while true do n = n + 1 redis.call('set', KEYS[1], n) end`,
	`local n = 0 while true do n = n + 1 pcall(redis.call, 'hset', KEYS[1], n % 50, n) end`,
	`local s = 'x' while true do s = s .. s redis.call('set', KEYS[1], #s) end`,
	`local t = {} for i = 1, 1e9 do t[i] = i redis.call('set', KEYS[1], i) end`,
	`return string.find(string.rep('a', 300000), '.-.-.-b')`,
	`local f f = function() redis.call('incr', KEYS[1]) return 1 + f() end return f()`,
	`local n = 0 local function f() n = n + 1 if n % 90 == 0 then redis.call('set', KEYS[1], n) end return 1 + f() end
	local ok, text = pcall(f) redis.call('append', KEYS[1], n .. text) return n`,
	`local function f(n) if n == 0 then coroutine.yield(1) end return 1 + f(n - 1) end
	redis.call('append', KEYS[1], tostring(select(2, coroutine.resume(coroutine.create(f), 80))) .. tostring(select(2, coroutine.resume(coroutine.create(f), -1))))`,
	`local out, fs = {}, {} for round = 1, 2 do for k, v in next, {a = 1, b = 2} do if false then local x end out[#out + 1] = k .. v end end
	for i = 1, 3 do do local j = i fs[i] = function() j = j + 1 return j end if i == 2 then break end end end
	pcall(error, 'x') for _, f in ipairs(fs) do out[#out + 1] = f() + f() end redis.call('append', KEYS[1], table.concat(out, ','))`,
	`redis.call('flushdb') return redis.call('publish', 'channel', KEYS[1])`,
	`redis.setresp(3) return redis.call('hgetall', KEYS[1])`,
	`return redis.call('scan', 0, 'count', 1000)`,
	"#!lua flags=no-writes\n" + `redis.call('getex', KEYS[1]) return redis.call('sort', KEYS[1])`,
	`redis.call('set', KEYS[1], cjson.encode({pcall(cjson.decode, '[01, +2, 0x10]'), pcall(string.format, '%d'), pcall(assert, nil, {}), string.format('%c|', 0), pcall(struct.size, 's=')}))`,
	`return redis.call('zunionstore', KEYS[1], 2, KEYS[1], KEYS[2] or KEYS[1])`,
	`return redis.call('xadd', KEYS[1], '*', 'a', ARGV[1] or 'x')`,
	`return redis.call('blpop', KEYS[1], 0)`,
	simAsk(`{'object', 'encoding', key}, {'object', 'freq', key}, {'object', 'idletime', key}, {'memory', 'usage', key}, {'xinfo', 'stream', key}`),
	simAsk(`{'srandmember', key, -3}, {'hrandfield', key, 2}, {'zrandmember', key, -3}, {'sscan', key, ARGV[2], 'count', 3}, {'zscan', key, 0}, {'spop', key}`),
	`syntax error (`, "#!lua flags=none\nreturn 1", "#!ruby\nreturn 1", "#!lua",
}

// simAsk is a script that stores the replies of commands about the form of values. The replies must
// not depend on whether the values came from a snapshot.
func simAsk(commands string) string {
	return `local kinds, out = {'set', 'h', 'list', 'bigset', 'bigints', 'bighash', 'bigzset', 'bigstream'}, {}
	local key = '{k' .. ARGV[1] % 7 .. '}' .. kinds[ARGV[2] % #kinds + 1]
	for _, command in ipairs({` + commands + `}) do out[#out + 1] = cjson.encode(redis.pcall(unpack(command))) end
	redis.call('set', KEYS[1], table.concat(out))`
}

// program draws the arguments of EVAL and its like: number of keys, keys, arguments.
func (l *simLog) program() []string {
	keys := 1 + l.rng.IntN(3)
	args := []string{strconv.Itoa(keys)}
	if l.rng.IntN(30) == 0 {
		args[0] = string(l.word())
	}
	for range keys {
		args = append(args, string(l.word()))
	}
	for range 2 + l.rng.IntN(2) {
		args = append(args, fmt.Sprint(l.rng.IntN(20)))
	}
	return args
}

func (l *simLog) script() string { return simScripts[l.rng.IntN(len(simScripts))] }

func (l *simLog) sha() string { return script.SHA1([]byte(l.script())) }

func init() {
	source := func(l *simLog) []string { return append([]string{l.script()}, l.program()...) }
	bySHA := func(l *simLog) []string { return append([]string{l.sha()}, l.program()...) }
	sensible["eval"], sensible["eval_ro"] = source, source
	sensible["evalsha"], sensible["evalsha_ro"] = bySHA, bySHA
	sensible["script|load"] = func(l *simLog) []string { return []string{l.script()} }
	sensible["script|show"] = func(l *simLog) []string { return []string{l.sha()} }
	sensible["script|exists"] = func(l *simLog) []string { return []string{l.sha(), l.sha(), "nonsense"} }
	sensible["script|flush"] = func(l *simLog) []string { return nil }
	sensible["script|kill"] = func(l *simLog) []string { return nil }
	sensible["lockstep.keep"] = func(l *simLog) []string { return []string{l.script()} }
}

func settingTxn(name, value string) Txn {
	return Txn{Kind: KindSetting, Proto: 2, Ops: []Op{{Args: [][]byte{[]byte("lockstep.set"), []byte(name), []byte(value)}}}}
}

// simScriptLimits are the limits at the start of a log.
func simScriptLimits() []Txn {
	return []Txn{
		settingTxn("script-max-work-ms", "1"), settingTxn("script-max-memory", "1048576"),
	}
}

// simThresholds decide the form of values. Existing values keep their form until they change,
// wherever they came from.
var simThresholds = [][]string{
	{"hash-max-listpack-entries", "0", "4", "512"}, {"hash-max-listpack-value", "4", "64"},
	{"set-max-intset-entries", "0", "4", "512"}, {"set-max-listpack-entries", "0", "4", "128"}, {"set-max-listpack-value", "3", "64"},
	{"zset-max-listpack-entries", "0", "4", "128"}, {"zset-max-listpack-value", "3", "64"},
	{"list-max-listpack-size", "-5", "-2", "0", "3", "100"}, {"hll-sparse-max-bytes", "0", "100", "3000"},
	{"stream-node-max-bytes", "0", "100", "4096"}, {"stream-node-max-entries", "0", "3", "100"},
	{"maxmemory-policy", "0", "2", "1"}, {"proto-max-bulk-len", "100", "536870912"},
}

// scriptTxn is a call of a script, or a change of the limits on scripts. The limits are so small
// that a log is full of scripts that reach them.
func (l *simLog) scriptTxn(t *Txn) {
	if l.rng.IntN(20) == 0 {
		settings := [][]string{
			{"script-max-work-ms", "1", "2", "3"}, {"script-max-memory", "1048576", "4194304"},
			{"script-cache-max-scripts", "3", "8", "100"}, {"txn-max-work-ms", "1", "10", "0"}, {"script-max-call-depth", "100", "4000", "150"},
		}
		if l.rng.IntN(2) == 0 {
			settings = simThresholds
		}
		s := settings[l.rng.IntN(len(settings))]
		*t = settingTxn(s[0], s[1+l.rng.IntN(len(s)-1)])
		return
	}
	t.MemoryFull = l.rng.IntN(20) == 0
	if l.rng.IntN(2) == 0 {
		// The receiver of a script makes no difference.
		t.Caller = command.Caller{Node: 7, Client: 300, Watched: t.MemoryFull}
	}
	names := []string{"eval", "eval", "eval", "evalsha", "evalsha", "eval_ro", "evalsha_ro", "script|load", "script|exists", "script|show"}
	if l.rng.IntN(40) == 0 {
		names = []string{"script|flush"}
	}
	t.Ops = []Op{l.opOf(names[l.rng.IntN(len(names))])}
	if l.rng.IntN(6) == 0 {
		t.Kind = KindExec
		t.Ops = append(t.Ops, l.opOf("eval"), l.op())
	}
	for i := range t.Ops {
		if op := &t.Ops[i]; op.Evaluates() && l.rng.IntN(3) == 0 {
			op.Sum = sumOf(op.Args[1])
		}
	}
}

// Scripts that ask for the form of values usually end well, and store more than errors.
func TestSimulatedQuestionsAreAnswered(t *testing.T) {
	l, s := newSimLog(3), newSimMachine("questions", 2, 4)
	defer s.m.Close()
	index := uint64(0)
	apply := func(data []byte) {
		t.Helper()
		index++
		if err := s.m.Apply(index, data); err != nil {
			t.Fatal(err)
		}
		s.await(t, index)
	}
	for range 150 {
		apply(l.entry())
	}
	asked, answered, told := 0, 0, 0
	for _, source := range simScripts {
		if !strings.Contains(source, "unpack(command)") {
			continue
		}
		for n := range 7 * 8 {
			asked++
			l.n++
			b := NewEntryBuilder(simGroup, EntryID{1, 1, l.n}, l.stamp, 512)
			question := txnOf(0, "eval", source, "1", "answer", fmt.Sprint(n%7), fmt.Sprint(n/7))
			before := append(simScriptLimits(), settingTxn("proto-max-bulk-len", "536870912"), settingTxn("outstanding-work-max-ms", "0"))
			b.Add(AppendBundle(nil, &Bundle{Txns: append(before, question, txnOf(0, "get", "answer"))}))
			apply(b.Finish())
			s.recorder.mu.Lock()
			replies := s.recorder.replies[EntryID{1, 1, l.n}]
			s.recorder.mu.Unlock()
			reply, answer := replies[len(before)], replies[len(before)+1]
			if !strings.HasPrefix(reply, "0 -") {
				answered++
				told += strings.Count(answer, "listpack") + strings.Count(answer, "hashtable") + strings.Count(answer, `["`)
			}
		}
	}
	if asked == 0 || answered < asked*3/4 || told < asked/4 {
		t.Errorf("%d questions, %d answered, which told of %d values", asked, answered, told)
	}
	t.Logf("%d questions, %d answered, which told of %d values", asked, answered, told)
}
