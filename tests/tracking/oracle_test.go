package tracking

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// These are the reasons why Lockstep sends more invalidations than Redis does, or fewer.
const (
	makesRaw      = "the text stays what it is, but not its encoding"
	keepsNoCount  = "Redis keeps the count that it gives in the key's value"
	changesGroups = "what XINFO and XPENDING answer of the stream has changed"
	bringsOthers  = "keys have other values, of which Redis tells nobody"
)

// tellings lists commands. Each runs on databases that hold the keys of tellingSetup, while a
// client caches all keys. differs is the reason if the invalidations differ from those of Redis.
var tellings = []struct{ command, differs string }{
	{command: "SET {k}s v"}, {command: "SET {k}s old"}, {command: "SET {k}s v NX"}, {command: "SET {k}new v XX"}, {command: "SET {k}s v GET"}, {command: "SETNX {k}s v"}, {command: "SET {k}s v EX 100"},
	{command: "GETSET {k}s v"}, {command: "GETDEL {k}s"}, {command: "GETDEL {k}new"}, {command: "GETEX {k}s"}, {command: "GETEX {k}s EX 100"}, {command: "GETEX {k}s PERSIST"}, {command: "GETEX {k}s PXAT 1"},
	{command: "APPEND {k}s x"}, {command: "APPEND {k}new x"}, {command: "APPEND {k}s \"\""}, {command: "SETRANGE {k}s 1 x"}, {command: "SETRANGE {k}s 1 \"\""}, {command: "SETRANGE {k}new 0 \"\""},
	{command: "INCR {k}n"}, {command: "INCRBYFLOAT {k}n 0"}, {command: "MSET {k}s 1 {k}new 2 {k}n 3"}, {command: "MSETNX {k}new 1 {k}s 2"}, {command: "SETBIT {k}s 1 1", differs: makesRaw}, {command: "SETBIT {k}s 1 0"}, {command: "BITFIELD {k}s GET u8 0"},
	{command: "BITFIELD {k}s SET u8 0 1"}, {command: "BITFIELD {k}s OVERFLOW FAIL INCRBY u2 0 3", differs: makesRaw}, {command: "BITOP NOT {k}new {k}s"}, {command: "BITOP AND {k}new {k}no1 {k}no2"}, {command: "BITOP AND {k}s {k}no1 {k}no2"},
	{command: "PFADD {k}p a"}, {command: "PFADD {k}p x"}, {command: "PFADD {k}new"}, {command: "PFMERGE {k}p"}, {command: "PFCOUNT {k}p", differs: keepsNoCount}, {command: "PFMERGE {k}new {k}p"},
	{command: "DEL {k}s {k}l {k}none"}, {command: "UNLINK {k}s"}, {command: "DEL {k}none"}, {command: "EXPIRE {k}s 100"}, {command: "EXPIRE {k}s 100 XX"}, {command: "EXPIRE {k}s -1"}, {command: "PEXPIREAT {k}t 1"}, {command: "PERSIST {k}s"}, {command: "PERSIST {k}t"}, {command: "EXPIRE {k}none 1"},
	{command: "RENAME {k}s {k}l"}, {command: "RENAME {k}s {k}s"}, {command: "RENAME {k}s {k}new"}, {command: "RENAMENX {k}s {k}l"}, {command: "RENAMENX {k}s {k}new"}, {command: "MOVE {k}s 1"}, {command: "MOVE {k}both 1"}, {command: "MOVE {k}none 1"},
	{command: "COPY {k}s {k}l"}, {command: "COPY {k}s {k}l REPLACE"}, {command: "COPY {k}s {k}new"}, {command: "COPY {k}s {k}s DB 1"}, {command: "COPY {k}none {k}l REPLACE"}, {command: "TOUCH {k}s"}, {command: "OBJECT ENCODING {k}s"},
	{command: "RESTORE {k}s 0 \"\\x00\\x05hello\\n\\x00cr\\xdfve4 \\n\" REPLACE"}, {command: "RESTORE {k}new 1 \"\\x00\\x05hello\\n\\x00cr\\xdfve4 \\n\" ABSTTL"}, {command: "RESTORE {k}s 1 \"\\x00\\x05hello\\n\\x00cr\\xdfve4 \\n\" ABSTTL REPLACE"},
	{command: "LPUSH {k}l x"}, {command: "RPUSHX {k}none x"}, {command: "LPOP {k}l"}, {command: "LPOP {k}l 0"}, {command: "LPOP {k}none"}, {command: "RPOP {k}l 9"}, {command: "LREM {k}l 0 none"}, {command: "LREM {k}l 0 a"}, {command: "LSET {k}l 0 a"}, {command: "LSET {k}l 9 a"},
	{command: "LTRIM {k}l 0 -1"}, {command: "LTRIM {k}l 1 0"}, {command: "LINSERT {k}l BEFORE none x"}, {command: "LINSERT {k}l AFTER a x"}, {command: "LMOVE {k}l {k}l LEFT RIGHT"}, {command: "LMOVE {k}l {k}new LEFT RIGHT"}, {command: "RPOPLPUSH {k}none {k}l"},
	{command: "LMPOP 2 {k}none {k}l LEFT"}, {command: "BLPOP {k}none {k}l 0"}, {command: "BLMOVE {k}l {k}new LEFT LEFT 0"}, {command: "SORT {k}l ALPHA"}, {command: "SORT {k}l ALPHA STORE {k}new"}, {command: "SORT {k}none STORE {k}l"}, {command: "SORT {k}none STORE {k}none2"},
	{command: "SADD {k}set a"}, {command: "SADD {k}set x"}, {command: "SREM {k}set none"}, {command: "SREM {k}set a b c"}, {command: "SPOP {k}set"}, {command: "SPOP {k}set 0"}, {command: "SPOP {k}set 9"}, {command: "SPOP {k}none"}, {command: "SMOVE {k}set {k}new a"}, {command: "SMOVE {k}set {k}set a"}, {command: "SMOVE {k}set {k}set2 none"}, {command: "SMOVE {k}set {k}set2 b"},
	{command: "SINTERSTORE {k}new {k}set {k}set2"}, {command: "SINTERSTORE {k}set {k}none {k}set2"}, {command: "SINTERSTORE {k}none {k}none2"}, {command: "SUNIONSTORE {k}set {k}set"}, {command: "SDIFFSTORE {k}set {k}set2 {k}set2"},
	{command: "HSET {k}h f v"}, {command: "HSET {k}h f w g x"}, {command: "HSETNX {k}h f x"}, {command: "HDEL {k}h none"}, {command: "HDEL {k}h f"}, {command: "HINCRBY {k}h n 0"}, {command: "HINCRBYFLOAT {k}h n 1"}, {command: "HMSET {k}new f v"},
	{command: "ZADD {k}z 1 a"}, {command: "ZADD {k}z 2 a"}, {command: "ZADD {k}z NX 7 a"}, {command: "ZADD {k}z GT 0 a"}, {command: "ZADD {k}z XX 1 none"}, {command: "ZADD {k}z INCR 0 a"}, {command: "ZINCRBY {k}z 0 a"}, {command: "ZINCRBY {k}z 1 a"}, {command: "ZREM {k}z none"}, {command: "ZREM {k}z a b c"},
	{command: "ZPOPMIN {k}z"}, {command: "ZPOPMIN {k}z 0"}, {command: "ZPOPMAX {k}z 9"}, {command: "BZPOPMIN {k}z 0"}, {command: "ZMPOP 1 {k}z MIN"}, {command: "ZREMRANGEBYRANK {k}z 5 9"}, {command: "ZREMRANGEBYRANK {k}z 0 -1"}, {command: "ZREMRANGEBYSCORE {k}z 1 1"}, {command: "ZREMRANGEBYLEX {k}z [a [a"},
	{command: "ZUNIONSTORE {k}new 1 {k}z"}, {command: "ZINTERSTORE {k}z 2 {k}none {k}z"}, {command: "ZDIFFSTORE {k}none 1 {k}none2"}, {command: "ZRANGESTORE {k}new {k}z 0 -1"}, {command: "ZRANGESTORE {k}z {k}none 0 -1"}, {command: "GEOADD {k}g 13.4 38.1 a"}, {command: "GEOADD {k}g CH XX 1 1 none"}, {command: "GEOSEARCHSTORE {k}g {k}none FROMLONLAT 1 1 BYRADIUS 1 km"}, {command: "GEOSEARCHSTORE {k}new {k}g FROMMEMBER a BYRADIUS 1 km"},
	{command: "XADD {k}x 9-1 f v"}, {command: "XADD {k}x MAXLEN 0 9-1 f v"}, {command: "XADD {k}new NOMKSTREAM 1-1 f v"}, {command: "XDEL {k}x 1-1"}, {command: "XDEL {k}x 7-1"}, {command: "XTRIM {k}x MAXLEN 1"}, {command: "XTRIM {k}x MAXLEN 100"}, {command: "XSETID {k}x 9-9", differs: changesGroups},
	{command: "XGROUP CREATE {k}x h 0", differs: changesGroups}, {command: "XGROUP CREATE {k}new h 0 MKSTREAM"}, {command: "XGROUP CREATE {k}x g 0"}, {command: "XGROUP SETID {k}x g 0", differs: changesGroups}, {command: "XGROUP DESTROY {k}x g", differs: changesGroups}, {command: "XGROUP DESTROY {k}x none"}, {command: "XGROUP CREATECONSUMER {k}x g eve", differs: changesGroups}, {command: "XGROUP CREATECONSUMER {k}x g ann"}, {command: "XGROUP DELCONSUMER {k}x g ann", differs: changesGroups}, {command: "XGROUP DELCONSUMER {k}x g none"},
	{command: "XREADGROUP GROUP g ann STREAMS {k}x >", differs: changesGroups}, {command: "XREADGROUP GROUP g ann STREAMS {k}x 0", differs: changesGroups}, {command: "XREADGROUP GROUP g new STREAMS {k}x 0", differs: changesGroups}, {command: "XACK {k}x g 1-1", differs: changesGroups}, {command: "XACK {k}x g 7-7"}, {command: "XCLAIM {k}x g bob 0 1-1", differs: changesGroups}, {command: "XCLAIM {k}x g bob 0 7-7", differs: changesGroups}, {command: "XAUTOCLAIM {k}x g bob 0 0", differs: changesGroups}, {command: "XREAD STREAMS {k}x 0"},
	{command: "FLUSHDB"}, {command: "FLUSHALL"}, {command: "FLUSHALL ASYNC"}, {command: "SWAPDB 0 1", differs: bringsOthers}, {command: "SWAPDB 1 2", differs: bringsOthers}, {command: "SWAPDB 0 0"},
	{command: "EVAL \"redis.call('set', KEYS[1], 'v') redis.call('set', KEYS[1], 'w') return redis.call('del', KEYS[2])\" 2 {k}s {k}l"},
}

// tellingSetup lists the commands that make the cached keys.
var tellingSetup = []string{
	"SET {k}s old", "SET {k}n 1", "SET {k}t text PX 100000", "SET {k}both 1", "PFADD {k}p a", "RPUSH {k}l a b c", "SADD {k}set a b c", "SADD {k}set2 b", "HSET {k}h f v n 1", "ZADD {k}z 1 a 2 b 3 c", "GEOADD {k}g 13.4 38.1 a",
	"XADD {k}x 1-1 f v", "XADD {k}x 2-1 f v", "XGROUP CREATE {k}x g 0", "XREADGROUP GROUP g ann COUNT 1 STREAMS {k}x >",
}

const tellingMark = "{k}mark"

// teller has two connections to one server: writer changes keys, and cacher caches them.
type teller struct {
	t              *testing.T
	writer, cacher *respconn.Conn
}

func newTeller(t *testing.T, addr string) *teller {
	w := &teller{t, proc.Dial(t, addr), proc.Dial(t, addr)}
	w.ask("HELLO", "3")
	return w
}

// ask sends a command on the connection that caches, and ignores the invalidations that come before
// the reply.
func (w *teller) ask(args ...string) {
	w.t.Helper()
	v, err := w.cacher.Do(args...)
	for err == nil && v.Kind == '>' {
		v, err = w.cacher.Read()
	}
	if err != nil || v.IsError() {
		w.t.Fatalf("%q: %v, %v", args, v, err)
	}
}

// do sends a command line on the connection that writes.
func (w *teller) do(line string) {
	w.t.Helper()
	args, err := respconn.Split(line)
	if err != nil {
		w.t.Fatal(err)
	}
	proc.Do(w.t, w.writer, args...)
}

// told returns the keys of which the caching client gets invalidations when a command runs. It does
// not compare how the keys are grouped into messages: Lockstep sends those of a transaction
// together.
func (w *teller) told(line string) []string {
	w.t.Helper()
	w.ask("CLIENT", "TRACKING", "OFF")
	w.do("FLUSHALL")
	w.do("SELECT 1")
	w.do("SET {k}both 2")
	w.do("SELECT 0")
	for _, line := range tellingSetup {
		w.do(line)
	}
	w.ask("CLIENT", "TRACKING", "ON")
	// After the mark has come, no invalidation from the setup can follow.
	w.ask("EXISTS", tellingMark)
	w.do("SET " + tellingMark + " v")
	w.heard(line)
	keys := []string{tellingMark, "{k}new", "{k}none", "{k}none2"}
	for _, line := range tellingSetup[:len(tellingSetup)-3] {
		keys = append(keys, strings.Fields(line)[1])
	}
	w.ask(append([]string{"EXISTS"}, keys...)...)
	w.do(line)
	w.do("SET " + tellingMark + " v")
	return w.heard(line)
}

// heard returns the keys of which the client gets invalidations, up to the mark.
func (w *teller) heard(line string) []string {
	w.t.Helper()
	told := map[string]bool{}
	for !told[tellingMark] {
		v, err := w.cacher.Read()
		if err != nil || len(v.Elems) != 2 {
			w.t.Fatalf("%s: %v, %v, after %v", line, v, err, told)
		}
		if v.Elems[1].Null {
			return []string{"all keys"} // and no key is registered any more
		}
		for _, key := range v.Elems[1].Elems {
			told[string(key.Bytes)] = true
		}
	}
	delete(told, tellingMark)
	return slices.Sorted(maps.Keys(told))
}

// TestWhatIsToldIsWhatRedisTells: a caching client gets invalidations for the same keys as from
// redis-server: for every key that changes, and for no other.
func TestWhatIsToldIsWhatRedisTells(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := newTeller(t, proc.RedisServer(t).Addr())
	node := newTeller(t, proc.NewNode(t, proc.Options{}).Addr())
	follower := newTeller(t, proc.NewCluster(t, 3, proc.Options{}).Follower().Addr())
	for _, telling := range tellings {
		want := redis.told(telling.command)
		for where, w := range map[string]*teller{"a node": node, "a follower": follower} {
			if got := w.told(telling.command); slices.Equal(got, want) != (telling.differs == "") {
				t.Errorf("%s on %s\n got %q\nwant %q\n%s", telling.command, where, got, want, telling.differs)
			}
		}
	}
}
