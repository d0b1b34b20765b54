// Package zoo has hostile scripts: they try to run forever, to use up all memory, or to change what
// they share with other scripts.
package zoo

// Animal is a hostile script.
type Animal struct {
	Name, Source string
	// Want is part of the error with which the script must end, or "" if it may end without an
	// error.
	Want string
	// SmallLimits is true if the script reaches a limit only where limits are smaller than a node's
	// defaults. At the defaults it ends in its own way.
	SmallLimits bool
	// Writes is true if the script writes KEYS[1] before it ends. These writes stay: the command
	// Ask with that key then gets the reply Left.
	Writes    bool
	Ask, Left string
}

// Ended is part of the error of a script that reached a limit on scripts.
const Ended = "the script was ended: "

// RefusedToWrite is part of the error of a script that writes where it may not.
const RefusedToWrite = "Write commands are not allowed"

// Animals are all hostile scripts except those of Dear. They may use KEYS[1].
var Animals = append(harmless, writing...)

// manyLocals is a function that uses much stack, and yields at its deepest call.
const manyLocals = `local function deep(n) local a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, a65, a66, a67, a68, a69, a70, a71, a72, a73, a74, a75, a76, a77, a78, a79, a80, a81, a82, a83, a84, a85, a86, a87, a88, a89, a90, a91, a92, a93, a94, a95, a96, a97, a98, a99, a100, a101, a102, a103, a104, a105, a106, a107, a108, a109, a110, a111, a112, a113, a114, a115, a116, a117, a118, a119, a120, a121, a122, a123, a124, a125, a126, a127, a128, a129, a130, a131, a132, a133, a134, a135, a136, a137, a138, a139, a140, a141, a142, a143, a144, a145, a146, a147, a148, a149, a150, a151, a152, a153, a154, a155, a156, a157, a158, a159, a160, a161, a162, a163, a164, a165, a166, a167, a168, a169, a170, a171, a172, a173, a174, a175, a176, a177, a178, a179, a180, a181, a182, a183, a184, a185, a186, a187, a188, a189 if n == 0 then coroutine.yield() else deep(n - 1) end end `

// writing are the scripts that write before they fail.
var writing = []Animal{
	{
		Name: "growing key", Source: `redis.call('del', KEYS[1]) while true do redis.pcall('append', KEYS[1], string.rep('x', 1000000)) end`,
		Want: Ended, Writes: true, Ask: "EXISTS", Left: ":1",
	},
	{
		Name:   "error in mid-write",
		Source: `redis.call('del', KEYS[1]) for i = 1, 100 do redis.call('rpush', KEYS[1], i) end error('in the middle')`,
		Want:   "in the middle", Writes: true, Ask: "LLEN", Left: ":100",
	},
	{
		Name: "wrong type in mid-write", Source: `redis.call('set', KEYS[1], 'was') redis.call('append', KEYS[1], ' here') redis.call('lpush', KEYS[1], 1)`,
		Want: "WRONGTYPE", Writes: true, Ask: "GET", Left: `"was here"`,
	},
	{
		Name:   "coroutine in mid-write",
		Source: `local f = coroutine.wrap(function() redis.call('set', KEYS[1], 'once') coroutine.yield() redis.call('append', KEYS[1], ' twice') error({err = 'MINE in the middle'}) end) f() f()`,
		Want:   "MINE in the middle", Writes: true, Ask: "GET", Left: `"once twice"`,
	},
	{
		Name: "bound in mid-write", Source: `redis.call('del', KEYS[1]) while true do pcall(redis.call, 'sadd', KEYS[1], 'member') end`,
		Want: Ended, Writes: true, Ask: "SCARD", Left: ":1",
	},
	{
		Name: "reply after a write", Source: `redis.call('set', KEYS[1], 'stays') local t = {} for i = 1, 100 do t[i] = string.rep('x', 1e6) end return t`,
		Want: Ended, Writes: true, Ask: "GET", Left: `"stays"`,
	},
}

var harmless = []Animal{
	{Name: "loop", Source: `while true do end`, Want: Ended},
	{Name: "loop in pcall", Source: `while true do pcall(function() while true do end end) end`, Want: Ended},
	{Name: "pcall of pcall", Source: `local function f() pcall(f) while true do end end f()`, Want: Ended},
	{Name: "xpcall", Source: `local function h() while true do end end xpcall(function() error('x') end, h)`, Want: Ended},
	{Name: "coroutine", Source: `coroutine.wrap(function() while true do end end)()`, Want: Ended},
	{Name: "coroutine in pcall", Source: `while true do pcall(coroutine.wrap(function() while true do end end)) end`, Want: Ended},
	{Name: "resume", Source: `local c = coroutine.create(function() while true do end end) while true do coroutine.resume(c) end`, Want: Ended},
	{Name: "yield for ever", Source: `local f = coroutine.wrap(function() while true do coroutine.yield(1) end end) while true do f() end`, Want: Ended},
	{Name: "many coroutines", Source: `local t = {} while true do t[#t+1] = coroutine.create(function() end) end`, Want: Ended},
	{Name: "coroutine in coroutine", Source: `local function f() return coroutine.wrap(f)() end return f()`, Want: "overflow"},
	{Name: "metamethod", Source: `return setmetatable({}, {__index = function(t, k) while true do end end}).x`, Want: Ended},
	{Name: "add metamethod", Source: `return setmetatable({}, {__add = function() while true do end end}) + 1`, Want: Ended},
	{Name: "index chain", Source: `local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x`, Want: "loop in gettable"},
	{Name: "newindex chain", Source: `local t = setmetatable({}, {}) getmetatable(t).__newindex = t t.x = 1`, Want: "loop in settable"},
	{Name: "sort comparator", Source: `table.sort({3,2,1}, function() while true do end end)`, Want: Ended},
	{Name: "inconsistent order", Source: `local t = {} for i = 1, 1000 do t[i] = i end while true do pcall(table.sort, t, function() return true end) end`, Want: Ended},
	{Name: "gsub callback", Source: `string.gsub(string.rep('x', 10), '.', function() while true do end end)`, Want: Ended},
	{Name: "load reader", Source: `load(function() while true do end end)`, Want: Ended},
	{Name: "load for ever", Source: `load(function() return ' ' end)`, Want: Ended},
	{Name: "tostring", Source: `tostring(setmetatable({}, {__tostring = function() while true do end end}))`, Want: Ended},
	{Name: "goto by closures", Source: `local function f() return f() end return f()`, Want: Ended},
	{Name: "pairs for ever", Source: `local t = {1} while true do for k in pairs(t) do end end`, Want: Ended},
	{Name: "next over holes", Source: `local t = {} for i = 1, 20000 do t['k'..i] = 1 end for i = 1, 20000 do t['k'..i] = nil end while true do next(t) end`, Want: Ended},
	{Name: "length of holes", Source: `local t = {} for i = 1, 60000 do t[i] = 1 end for i = 1, 60000 do t[i] = nil end while true do local n = #t end`, Want: Ended},
	{Name: "insert in front", Source: `local t = {} while true do table.insert(t, 1, 1) end`, Want: Ended},
	{Name: "doubling", Source: `local s = 'x' while true do s = s .. s end`, Want: Ended},
	{Name: "doubling in pcall", Source: `local s = 'x' while true do pcall(function() s = s .. s end) end`, Want: Ended},
	{Name: "concat metamethod", Source: `local m = setmetatable({}, {__concat = function(a, b) return string.rep('x', 1000000) end}) while true do local s = m .. m end`, Want: Ended},
	{Name: "rep", Source: `return string.rep('x', 2^40)`, Want: Ended},
	{Name: "rep overflow", Source: `return string.rep('xxxxxxxx', 2^62)`, Want: Ended},
	{Name: "rep often", Source: `local t = {} while true do t[#t+1] = string.rep('x', 1e6) end`, Want: Ended},
	{Name: "format", Source: `return string.format(string.rep('%99d', 100000000), 1)`, Want: Ended},
	{Name: "format of strings", Source: `local s = string.rep('x', 1e7) while true do local t = string.format('%s%s%s', s, s, s) end`, Want: Ended},
	{Name: "gsub growth", Source: `local s = string.rep('x', 1e5) return string.gsub(s, '.', s)`, Want: Ended},
	{Name: "gsub captures", Source: `local s = string.rep('x', 1e6) return (string.gsub(s, '(.*)', string.rep('%1', 1000)))`, Want: Ended},
	{Name: "concat growth", Source: `local t = {} local s = string.rep('x', 1e6) for i = 1, 1000 do t[i] = s end return table.concat(t)`, Want: Ended},
	{Name: "upper", Source: `local s = string.rep('x', 1e7) while true do s:upper() end`, Want: Ended},
	{Name: "table growth", Source: `local t = {} for i = 1, 1e9 do t[i] = i end`, Want: Ended},
	{Name: "keys growth", Source: `local t = {} for i = 1, 1e9 do t['k' .. i] = i end`, Want: Ended},
	{Name: "sparse arrays", Source: `local l = {} for i = 1, 1e9 do local t = {} t[65535] = 1 l[i] = t end`, Want: Ended},
	{Name: "sparse constructors", Source: `local l = {} for i = 1, 1e9 do l[i] = {[65535]=1} end`, Want: Ended},
	{Name: "computed sparse constructors", Source: `local l, n = {}, 65535 for i = 1, 1e9 do l[i] = {1, 2, [n]=1, unpack({3, 4})} end`, Want: Ended},
	{Name: "length of a constructed nothing", Source: `local t = {[65535]=nil} while true do local n = #t end`, Want: Ended},
	{Name: "constructors of long keys", Source: `local s = string.rep('x', 1e7) while true do local t = {[s]=1} end`, Want: Ended},
	{Name: "nested tables", Source: `local t = {} while true do t = {t} end`, Want: Ended},
	{Name: "constructors", Source: `while true do local t = {a=1} end`, Want: Ended},
	{Name: "closures", Source: `local t = {} local a, b, c while true do t[#t+1] = function() return a, b, c end end`, Want: Ended},
	{Name: "unpack", Source: `return unpack({}, 1, 1e8)`, Want: "too many results"},
	{Name: "unpack overflow", Source: `return unpack({}, -2^63, 2^63)`, Want: "too many results"},
	{Name: "spread", Source: `local function f(...) return f(1, ...) end f()`, Want: Ended},
	{Name: "recursion", Source: `local function f() return 1 + f() end return f()`, Want: "stack overflow"},
	{Name: "recursion through pcall", Source: `local function f() local ok, e = pcall(f) if not ok then error(e, 0) end end f()`, Want: "stack overflow"},
	{Name: "recursion through metamethods", Source: `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k .. 'x'] end return t['a']`, Want: "overflow"},
	{Name: "recursion through gsub", Source: `local function f(s) return (s:gsub('.', f)) end return f('x')`, Want: "overflow"},
	{Name: "recursion through sort", Source: `local function f() table.sort({1, 2}, f) end f()`, Want: "overflow"},
	{Name: "deep coroutines", Source: manyLocals + `local t = {} while true do local f = coroutine.wrap(deep) f(900) t[#t + 1] = f end`, Want: "stack overflow"},
	{Name: "full coroutines", Source: manyLocals + `local t = {} while true do local f = coroutine.wrap(deep) f(70) t[#t + 1] = f end`, Want: Ended},
	{Name: "shared variables", Source: `local function leaf() end local function deep(n) local a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59 local f = function() return a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59 end if n > 0 then deep(n - 1) return f end while true do leaf() end end return deep(3800)`, Want: Ended},
	{Name: "errors in the deep", Source: `local function f(n) if n > 0 then return 1 + f(n - 1) end while true do pcall(error, 'x', 3000) end end return f(3900)`, Want: Ended},
	{Name: "full stacks in pcall", Source: manyLocals + `local function again(n) pcall(deep, 1000) if n > 0 then pcall(again, n - 1) end end again(150) while true do end`, Want: Ended},
	{Name: "metamethods in pcall", Source: `local function climb(n, go) local t = setmetatable({}, {}) getmetatable(t).__index = function(t) n = n - 1 if n <= 0 then return go() end return t.x end return t.x end
	local function again() local ok, e = pcall(climb, 450, again) error(e, 0) end return again()`, Want: "overflow"},
	{Name: "metamethods in coroutines", Source: `local function climb(n, go) local t = setmetatable({}, {}) getmetatable(t).__index = function(t) n = n - 1 if n <= 0 then return go() end return t.x end return t.x end
	local levels = 0 local function again() levels = levels + 1 local f = coroutine.wrap(climb) return f(450, again) end return again()`, Want: "overflow"},
	{Name: "pattern", Source: `return string.find(string.rep('a', 300000), '.-.-.-b')`, Want: Ended},
	{Name: "pattern options", Source: `return string.find(string.rep('a', 30), string.rep('a?', 30) .. string.rep('a', 31))`, Want: Ended},
	{Name: "pattern in pcall", Source: `while true do pcall(string.find, string.rep('a', 30000), '.-.-.-b') end`, Want: Ended},
	{Name: "long set", Source: `local s = '[' .. string.rep('x', 1e7) .. ']' while true do string.gsub('', s, '') end`, Want: Ended},
	{Name: "long set without an end", Source: `local s = '[' .. string.rep('%]', 5e6) while true do pcall(string.gsub, '', s, '') end`, Want: Ended},
	{Name: "gmatch", Source: `for w in string.gmatch(string.rep('a', 300000), '.-b') do end`, Want: Ended},
	{Name: "gsub pattern", Source: `return string.gsub(string.rep('a', 300000), '.-b', 'x')`, Want: Ended},
	{Name: "pattern depth", Source: `return string.find(string.rep('a', 1e6), string.rep('(a', 1e5))`, Want: "too"},
	{Name: "balance", Source: `return string.gsub(string.rep('(', 300000), '%b()', '')`, Want: Ended},
	{Name: "equal strings", Source: `local a, b = string.rep('x', 1e7), string.rep('x', 1e7) while true do local c = a == b end`, Want: Ended},
	{Name: "ordered strings", Source: `local a, b = string.rep('x', 1e7), string.rep('x', 1e7) while true do local c = a < b end`, Want: Ended},
	{Name: "long keys", Source: `local t, a = {}, string.rep('x', 1e7) while true do local c = t[a] end`, Want: Ended},
	{Name: "cjson depth", Source: `local t = {} for i = 1, 2000 do t = {t} end return cjson.encode(t)`, Want: "excessive"},
	{Name: "cjson cycle", Source: `local t = {} t[1] = t return cjson.encode(t)`, Want: "excessive"},
	{Name: "cjson wide", Source: `local t = {} local s = string.rep('x', 1e6) for i = 1, 1000 do t[i] = s end return cjson.encode(t)`, Want: Ended},
	{Name: "cjson decode depth", Source: `return cjson.decode(string.rep('[', 1e6))`, Want: "nested"},
	{Name: "cjson decode wide", Source: `return cjson.decode('[' .. string.rep('{"a":1},', 1e6) .. '1]')`, Want: Ended},
	{Name: "cmsgpack depth", Source: `return cmsgpack.unpack(string.rep('\145', 1e6))`, Want: "nested"},
	{Name: "cmsgpack claims", Source: `return cmsgpack.unpack('\221\255\255\255\255')`, Want: "Missing bytes"},
	{Name: "struct", Source: `return struct.pack(string.rep('i32', 1e7))`, Want: "number expected"},
	{Name: "struct unpack", Source: `return struct.unpack(string.rep('b', 1e6), string.rep('x', 1e6))`, Want: "too many results"},
	{Name: "reply cycle", Source: `local t = {} t[1] = t return t`, Want: ""},
	{Name: "reply size", Source: `local s = string.rep('x', 1e6) local t = {} for i = 1, 100 do t[i] = s end return t`, Want: Ended},
	{Name: "reply width", Source: `local t = {} t[1] = {t, t} local s = {1} for i = 1, 60 do s = {s, s} end return s`, Want: Ended},
	{Name: "calls", Source: `while true do redis.call('exists', KEYS[1]) end`, Want: Ended},
	{Name: "calls in pcall", Source: `while true do redis.pcall('nope') end`, Want: Ended},
	{Name: "loadstring", Source: `while true do loadstring(string.rep('x = 1 ', 1000)) end`, Want: Ended},
	{Name: "binary chunk", Source: `return loadstring(string.dump(function() end))`, Want: "unable to dump"},
	{Name: "yield in an operator", Source: `local t = setmetatable({}, {__add = function() coroutine.yield(1) return 2 end}) local f = coroutine.wrap(function() while true do local x = t + 1 end end) while true do f() end`, Want: ""},
	{Name: "yield in an iterator", Source: `local f = coroutine.wrap(function() for x in function() coroutine.yield(1) return 1 end do end end) while true do f() end`, Want: ""},
	{Name: "yield in __index", Source: `local t = setmetatable({}, {__index = function() coroutine.yield(1) return 2 end}) local f = coroutine.wrap(function() while true do local x = t.x end end) while true do f() end`, Want: ""},
	{Name: "yield outside", Source: `coroutine.yield(1)`, Want: "boundary"},
	{Name: "arguments many times", Source: `local s = string.rep('x', 2e7) redis.call('mset', s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s)`, Want: Ended},
	{Name: "next of a long key", Source: `local s = string.rep('x', 1e7) local t = {[s]=1} while true do next(t) next(t, s) end`, Want: Ended},
	{Name: "lost keys before a new one", Source: `local t = {} for i = 1, 100000 do t[-i]=1 end for i = 1, 100000 do t[-i]=nil end t[-1e9]=1 while true do t.x=1 t.x=nil end`, Want: Ended},
	{Name: "long lost keys", Source: `local t = {} for i = 1, 100 do t[string.rep('x', 1e5)..i]=1 end for k in pairs(t) do t[k]=nil end t.x=1 while true do next(t) end`, Want: Ended},
	{Name: "lost keys in a reply", Source: `local t = {} for i = 1, 50000 do t[-i]=1 end for i = 1, 49999 do t[-i]=nil end local r = {} for i = 1, 1000 do r[i] = {map=t} end return r`, Want: Ended},
	{Name: "assert of a long text", Source: `local s = string.rep('x', 1e7) while true do pcall(assert, false, s) end`, Want: Ended},
	{Name: "log of a long text", Source: `local s = string.rep('x', 1e7) while true do redis.log(1, s) end`, Want: Ended},
	{Name: "number of a long text", Source: `local s = string.rep(' ', 1e7)..'1' while true do math.abs(s) end`, Want: Ended},
	{Name: "sum of a long text", Source: `local s = string.rep(' ', 1e7)..'1' while true do local x = s + 1 end`, Want: Ended},
	{Name: "minus a long text", Source: `local s = string.rep(' ', 1e7)..'1' while true do local x = -s end`, Want: Ended},
	{Name: "find of a long text", Source: `local s = string.rep('x', 1e7) while true do string.find('a', s) end`, Want: Ended},
	{Name: "struct without an end", Source: `local s = string.rep('x', 1e7) while true do pcall(struct.unpack, 's', s) end`, Want: Ended},
	{Name: "struct of a long format", Source: `local s = 'i'..string.rep('0', 1e7) while true do struct.size(s) end`, Want: Ended},
	{Name: "long global name", Source: `local s = string.rep('x', 1e6) while true do pcall(function() return _G[s] end) end`, Want: Ended},
	{Name: "cjson almost numbers", Source: `local s = '[1'..string.rep('e', 398) while true do pcall(cjson.decode, s) end`, Want: Ended},
	{Name: "index chain of a long key", Source: `local t = {} for i = 1, 90 do t = setmetatable({}, {__index=t}) end local s = string.rep('x', 1e7) while true do local x = t[s] end`, Want: Ended},
	{Name: "long error", Source: `error(string.rep('x', 1e7))`, Want: Ended, SmallLimits: true},
	{Name: "long error in a reply", Source: `return {err=string.rep('x', 1e7)}`, Want: Ended, SmallLimits: true},
	{Name: "changing string", Source: `getmetatable('').__index = function() end`, Want: "readonly"},
	{Name: "changing _G", Source: `_G.x = 1`, Want: "readonly"},
	{Name: "changing redis", Source: `rawset(redis, 'call', 1)`, Want: "readonly"},
	{Name: "table.insert into shared", Source: `table.insert(redis, 1)`, Want: "readonly"},
	{Name: "table.sort of shared", Source: `table.sort(redis)`, Want: "readonly"},
}
