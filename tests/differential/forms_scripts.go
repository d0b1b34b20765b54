package differential

import (
	"crypto/sha1"
	"encoding/hex"
	"math/rand/v2"
)

// scriptForms run scripts and functions of a fixed set (luaTexts) on random keys and arguments.
var scriptForms = []formText{
	{16, "EVAL lua 1 key value"},
	{10, "EVAL lua 2 key key (value|int|float) value"},
	{4, "EVAL_RO lua 1 key value"},
	{2, "EVAL lua small key value"},
	{3, "(EVALSHA|EVALSHA_RO) sha 1 key (int|value)"},
	{2, "SCRIPT (LOAD lua|EXISTS sha sha)"},
	{2, "FUNCTION LOAD [REPLACE] library"},
	{1, "FUNCTION (DELETE CALC|LIST LIBRARYNAME X*|DELETE OTHER)"},
	{10, "FCALL (CALC_ADD|CALC_GET|CALC_SWAP|NOSUCH) 1 key (int|value)"},
	{3, "FCALL CALC_SWAP 2 key key value"},
	{4, "FCALL_RO (CALC_GET|CALC_ADD) (1|1|small) key value"},
}

// luaTexts are scripts whose result depends only on the values of their keys. Each gets one key and
// one argument, or more.
var luaTexts = []string{
	`return redis.call('get', KEYS[1])`,
	`return redis.call('set', KEYS[1], ARGV[1])`,
	`return redis.pcall('incrby', KEYS[1], ARGV[1])`,
	`local v = redis.call('incr', KEYS[1]) return {v, v / 2, tostring(v / 3), v % 7 == 0}`,
	`return {redis.pcall('lpush', KEYS[1], ARGV[1], 'b'), redis.pcall('lrange', KEYS[1], 0, 3), redis.pcall('llen', KEYS[#KEYS])}`,
	`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`,
	`local n = tonumber(ARGV[1]) if not n then return {err = 'MYERR ' .. #ARGV[1]} end return redis.call('incrby', KEYS[1], n % 100)`,
	`return redis.call('hset', KEYS[1], 'f', ARGV[1]) + redis.call('hlen', KEYS[1])`,
	`redis.setresp(3) redis.pcall('zadd', KEYS[1], 1.5, 'm') return redis.pcall('zscore', KEYS[1], 'm')`,
	`redis.setresp(3) return {redis.pcall('hget', KEYS[1], 'nosuch'), redis.pcall('sismember', KEYS[1], 'm'), ARGV[1]}`,
	`redis.call('set', KEYS[1], ARGV[1]) return redis.call('lpush', KEYS[1], 'x')`,
	`redis.call('select', 1) redis.call('set', KEYS[1], 'one') redis.call('select', '0') return redis.call('exists', KEYS[1])`,
	`local t = {} for i, k in ipairs(KEYS) do t[i] = redis.call('type', k) end t[#t + 1] = redis.call('exists', unpack(KEYS)) return t`,
	`local ok, e = pcall(redis.call, 'rpop', KEYS[1]) return ok and {e} or tostring(e)`,
	`return ARGV[1] + 1`,
	`return {string.format('%q', ARGV[1]), #ARGV[1], ARGV[1]:upper():sub(1, 20), ARGV[1]:rep(2):reverse(), (ARGV[1]:gsub('%w', '<%0>'))}`,
	`return cjson.encode({1.25, {1, 'a', false}}) .. tostring(cjson.decode('[1, 2.5e3]')[2]) .. struct.size('>I4b') .. bit.tohex(255)`,
	`return {1, 2, nil, 4}`,
	`return {ok = ARGV[1]}`,
	`return {double = 3.5}`,
	`error({err = 'CODE thrown', x = 1})`,
	`error('thrown')`,
	`return redis.error_reply(ARGV[1])`,
	`return nosuch`,
	`return redis.call('nosuch', KEYS[1])`,
	`return redis.pcall('set', KEYS[1])`,
	`return redis.call('multi')`,
	`return {redis.pcall('blmpop', 0, #KEYS, KEYS[1], KEYS[#KEYS], 'left'), redis.pcall('bzmpop', '0', '1', KEYS[1], 'max')}`,
	`return {redis.pcall('xread', 'block', '0', 'streams', KEYS[1], '0'), redis.pcall('XREAD', 'COUNT', ARGV[1], 'BLOCK', ARGV[1], 'STREAMS', KEYS[1], '0')}`,
	`return {{verbatim_string = {format = ARGV[1]:sub(1, 2), string = ARGV[1]}}, {big_number = ARGV[1]}}`,
	`local v = {cmsgpack.unpack(ARGV[1] or '')} return v`,
	`return )`,
	"#!lua flags=no-writes\nreturn redis.call('incr', KEYS[1])",
	"#!lua flags=no-writes\nreturn {redis.pcall('getex', KEYS[1]), redis.pcall('sort', KEYS[1], 'alpha'), redis.pcall('bitfield', KEYS[1], 'get', 'u8', '0')}",
	"#!lua flags=no-writes\nreturn {redis.pcall('sort_ro', KEYS[1], 'alpha'), redis.pcall('georadius', KEYS[1], '0', '0', '1', 'm'), redis.pcall('bitfield_ro', KEYS[1], 'get', 'u8', '0')}",
	"#!lua flags=nosuch\nreturn 1",
	"#!lua\nreturn redis.pcall('append', KEYS[1], ARGV[1])",
}

// library has a function that writes, one that does not, and one with several keys.
const library = "#!lua name=CALC\n" +
	"local function add(keys, args) return redis.call('incrby', keys[1], args[1]) end\n" +
	"redis.register_function('CALC_ADD', add)\n" +
	"redis.register_function{function_name = 'CALC_GET', callback = function(keys) return redis.call('get', keys[1]) end, flags = {'no-writes'}}\n" +
	"redis.register_function('CALC_SWAP', function(keys, args)\n" +
	"  local old = redis.pcall('getset', keys[1], args[1])\n" +
	"  return {old, redis.call('type', keys[#keys]), #args}\n" +
	"end)\n"

func drawLua(r *rand.Rand) string { return pick(r, luaTexts...) }

func drawLibrary(*rand.Rand) string { return library }

// drawSHA draws the SHA1 of a script, now and then of one that was never sent.
func drawSHA(r *rand.Rand) string {
	text := drawLua(r)
	if r.IntN(4) == 0 {
		text = "return 'unheard of'"
	}
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// luaWhole reports whether a command carries Lua, which must not be spoiled: for a spoiled text Lua
// 5.1 reports what it expected.
func luaWhole(args []string) bool {
	return args[0] == "EVAL" || args[0] == "EVAL_RO" || args[0] == "SCRIPT" || args[0] == "FUNCTION"
}
