package differential

import (
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func tableOf(t *testing.T, addr string) map[string]commandRow {
	t.Helper()
	rows, err := commandRows(proc.Dial(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestCommandTableIsRedisesButForListedDifferences(t *testing.T) {
	ours := tableOf(t, proc.NewNode(t, proc.Options{}).Addr())
	redis := tableOf(t, proc.RedisServer(t).Addr())
	differences, unneeded := compareRows(ours, redis)
	for _, d := range differences {
		t.Error(d)
	}
	for _, d := range unneeded {
		t.Errorf("a listed difference does not exist: %s", d)
	}
	t.Logf("%d commands and subcommands compared", len(ours))
}

// issueCommands are the commands that must exist, without their subcommands.
const issueCommands = `set get getex getdel setnx getset setex psetex mset msetnx mget incr decr incrby decrby
	setbit getbit bitcount bitpos bitop bitfield bitfield_ro pfadd pfcount pfmerge pfdebug pfselftest
	incrbyfloat append setrange getrange substr strlen lcs del unlink exists touch type keys scan randomkey rename
	renamenx copy move dbsize expire pexpire expireat pexpireat ttl pttl expiretime pexpiretime persist object dump
	restore flushdb flushall swapdb select multi exec discard watch unwatch ping echo quit reset hello auth client
	command info time wait waitaof role config slowlog debug cluster readonly readwrite asking
	sadd srem scard sismember smismember smembers spop srandmember smove sscan
	sinter sintercard sinterstore sunion sunionstore sdiff sdiffstore
	zadd zincrby zrem zcard zscore zmscore zrank zrevrank zcount zlexcount zrange zrangestore zrangebyscore
	zrevrangebyscore zrangebylex zrevrangebylex zrevrange zremrangebyrank zremrangebyscore zremrangebylex zpopmin
	zpopmax zmpop bzpopmin bzpopmax bzmpop zrandmember zscan zunion zinter zdiff zintercard zunionstore zinterstore
	zdiffstore geoadd geodist geohash geopos georadius georadius_ro georadiusbymember georadiusbymember_ro geosearch
	geosearchstore
	xadd xlen xrange xrevrange xdel xtrim xread xsetid xinfo xgroup xreadgroup xack xpending xclaim xautoclaim`

// issueLists are the commands on lists, and SORT.
const issueLists = `lpush rpush lpushx rpushx lpop rpop llen lindex lrange lset linsert lrem ltrim lpos lmove rpoplpush
	lmpop blpop brpop blmove brpoplpush blmpop sort sort_ro`

// issueSubcommands are the subcommands that must exist.
const issueSubcommands = `client|id client|info client|list client|getname client|setname client|setinfo client|kill
	client|no-evict client|no-touch client|reply command|count command|info command|docs command|getkeys
	command|getkeysandflags command|list command|help config|get config|set config|resetstat slowlog|get slowlog|len
	slowlog|reset slowlog|help object|encoding object|refcount object|idletime object|freq object|help cluster|info
	cluster|nodes cluster|slots cluster|shards cluster|myid cluster|keyslot cluster|countkeysinslot
	cluster|getkeysinslot cluster|help xinfo|stream xinfo|groups xinfo|consumers xinfo|help xgroup|create xgroup|setid
	xgroup|destroy xgroup|createconsumer xgroup|delconsumer xgroup|help`

func TestEveryCommandOfTheIssueIsInTheTable(t *testing.T) {
	ours := tableOf(t, proc.NewNode(t, proc.Options{}).Addr())
	for _, name := range strings.Fields(issueCommands + " " + issueLists + " " + issueSubcommands) {
		if _, ok := ours[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestCommandDocsReadAlike compares the facts in COMMAND DOCS: since, group, arguments. Summaries
// are Lockstep's own words.
func TestCommandDocsReadAlike(t *testing.T) {
	ours, redis := proc.Dial(t, proc.NewNode(t, proc.Options{}).Addr()), proc.Dial(t, proc.RedisServer(t).Addr())
	for _, name := range strings.Fields(issueCommands) {
		if name == "waitaof" || name == "zrank" || name == "zrevrank" {
			continue // newer than the oracle, or with a newer option
		}
		a, err := ours.Do("COMMAND", "DOCS", name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := redis.Do("COMMAND", "DOCS", name)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Elems) != 2 || len(b.Elems) != 2 {
			t.Errorf("%s: %d and %d elements", name, len(a.Elems), len(b.Elems))
			continue
		}
		docsA, docsB := docFields(a.Elems[1]), docFields(b.Elems[1])
		for _, field := range []string{"since", "group", "arguments"} {
			if docsA[field] != docsB[field] {
				t.Errorf("%s: %s:\nlockstep: %s\nredis-server: %s", name, field, docsA[field], docsB[field])
			}
		}
		if docsA["summary"] == "" {
			t.Errorf("%s has no summary", name)
		}
	}
}

func docFields(v respconn.Value) map[string]string {
	fields := map[string]string{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		fields[string(v.Elems[i].Bytes)] = v.Elems[i+1].String()
	}
	return fields
}
