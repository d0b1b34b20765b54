package commands_test

import (
	"testing"

	"lockstep/engine"
	"lockstep/tests/kit/cmdtest"
)

// TestOtherKindsAnswerAsRedisDoes runs the commands of these families on a key
// that holds a list.
func TestOtherKindsAnswerAsRedisDoes(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	reset := func() {
		o.Do("flushall")
		r.Do("flushall")
		for _, line := range []string{"rpush l x", "pexpireat l 4000000000123"} {
			o.Do(line)
		}
		e := engine.NewObject([]byte("l"), engine.KindList, cmdtest.FakeList{})
		e.ExpireAtMs = 4000000000123
		r.KS.Put(r.KS.LockSlotOf(e), 0, e, 1)
		o.Do("set s text")
		r.Do("set s text")
	}
	for _, line := range []string{
		"get l", "set l 1", "set l 1 get", "set l 1 nx get", "set l 1 xx keepttl", "getex l", "getex l persist", "getdel l", "setnx l 1", "getset l 1", "setex l 0 1",
		"mset l 1", "msetnx l 1 a 2", "mget l s", "incr l", "decrby l x", "incrbyfloat l 1", "incrbyfloat l x", "append l 1", "setrange l 0 1", "setrange l 0 \"\"", "setrange l -1 1",
		"getrange l 0 1", "getrange l x 1", "substr l 0 1", "strlen l", "lcs l s", "lcs s l foo", "del l", "exists l", "touch l", "type l", "rename l m", "renamenx l s", "rename s l",
		"copy l m", "copy l s", "copy l s replace", "move l 1", "expire l 0", "expireat l 4000000001", "persist l", "pexpiretime l", "object encoding l", "object refcount l",
		"setbit l 0 1", "setbit l x 1", "getbit l 0", "bitcount l", "bitcount l x 1", "bitpos l 1", "bitpos l 2", "bitpos l 1 x", "bitop not s l", "bitop and m s l", "bitop or l s", "bitop or l m",
		"bitfield l", "bitfield l get u8 0", "bitfield l set u8 0 1", "bitfield_ro l get u8 0", "bitfield_ro l set u8 0 1", "bitfield l set u65 0 1",
		"pfadd l", "pfadd l x", "pfadd s x", "pfcount l", "pfcount s", "pfcount m l", "pfmerge l", "pfmerge m l", "pfmerge l m", "pfdebug encoding l", "pfdebug x s", "pfdebug x m",
		"scan 0 type list", "keys *", "dbsize", "swapdb 0 1",
	} {
		reset()
		for _, line := range []string{line, "type l", "type m", "pexpiretime l", "pexpiretime m", "get s", "select 1", "type l", "select 0"} {
			got, want := cmdtest.Both(r, o, cmdtest.Words(line))
			if string(got) != string(want) {
				t.Errorf("%s\n got %q\nwant %q", line, got, want)
			}
		}
	}
}
