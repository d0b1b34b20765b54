package differential

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// setForms are the forms of commands on sets. SPOP takes nothing or everything: any other choice is
// random.
var setForms = []formText{
	{20, "SADD key member+"},
	{10, "SADD key member+ member+ member+"},
	{8, "SADD key value"},
	{8, "SREM key member+"},
	{5, "SCARD key"},
	{5, "SISMEMBER key member"},
	{5, "SMISMEMBER key member+"},
	{8, "SMEMBERS key"},
	{8, "SMOVE key key member"},
	{4, "SPOP key (0|100000|100000|-1|X|int)"},
	{4, "SRANDMEMBER key [small|int|100000]"},
	{4, "SSCAN key 0 COUNT 100000 [MATCH pattern]"},
	{2, "SSCAN key (X|0) COUNT 100000 [MATCH pattern] [COUNT (0|X|-1)] [TYPE SET]"},
	{6, "(SINTER|SUNION|SDIFF) key+"},
	{10, "(SINTERSTORE|SUNIONSTORE|SDIFFSTORE) key key+"},
	{4, "SINTERCARD (1 key|2 key key|3 key key key|small key key) [LIMIT small]"},
	{2, "SINTERCARD (2 key key|2 key) [LIMIT int] [LIMIT small|X]"},
	{4, "RESTORE key 0 setpayload [REPLACE]"},
	{2, "OBJECT (ENCODING|REFCOUNT) key"},
	{2, "TYPE key"},
	{1, "COMMAND GETKEYS (SINTERCARD 2 key key|SINTERSTORE key key+|SMOVE key key member|SADD key member|SUNION key+)"},
}

func init() {
	terms["member"] = drawMember
	terms["setpayload"] = func(r *rand.Rand) string { return setPayloads[r.IntN(len(setPayloads))] }
}

// drawMember draws from few members, so that sets have some in common.
func drawMember(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return drawValue(r)
	case 1:
		return pick(r, "32767", "32768", "2147483648", "-9223372036854775808", "01", "-0", "")
	case 2, 3:
		return pick(r, "a", "b", "c", "d", "e")
	default:
		return strconv.Itoa(r.IntN(20))
	}
}

// chanceFree reports whether the command's outcome depends on no chance other than what its
// exception allows, and whether the command ends.
func chanceFree(args []string) bool {
	count := int64(0)
	if len(args) == 3 {
		count, _ = strconv.ParseInt(args[2], 10, 64)
	}
	switch strings.ToUpper(args[0]) {
	case "SORT", "SORT_RO":
		// Without a defined order the members of a set come in any order.
		return !strings.Contains(strings.ToUpper(strings.Join(args, " ")), "BY NOSORT")
	case "SPOP":
		return len(args) != 2 && (count <= 0 || count >= 100_000)
	case "SRANDMEMBER":
		return count > -100_000
	}
	return true
}

// walksInParts reports whether the command scans in parts: an incomplete scan proves nothing.
func walksInParts(args []string) bool {
	return slices.Contains([]string{"SCAN", "SSCAN"}, strings.ToUpper(args[0]))
}

// setPayloads were written by DUMP of redis-server 7.0.15: an intset, a set of words, and a large
// one. The last two are broken.
var setPayloads = []string{
	"\x0b\x0e\x02\x00\x00\x00\x03\x00\x00\x00\x01\x00\x02\x00,\x01\x0a\x00\xe5\x10\xb2\x8e{\x95)\xaa",
	"\x02\x03\xc0\x05\x01a\x01b\x0a\x00l\xf6\xd0\xb4\x9f{\xb0\x92",
	"\x02\x05\xc0\x00\xc0\x02\xc0\x01\x01x(yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\x0a\x00\x0aNQrrn[\xd0",
	"\x02\x02\x01a\x01a\x0a\x00W\xbev/\xc2\xd6R:",
	"\x0b\x0b\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x0a\x00\xc6\xcf\x8eo Z_\x1e",
}
