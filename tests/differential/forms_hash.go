package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lockstep/tests/kit/respconn"
)

// hashForms are the commands on hashes.
var hashForms = []formText{
	{14, "(HSET|HMSET) hkey (field value)+"},
	{6, "HSET hkey (field int|field float)+"},
	{6, "HSETNX hkey field value"},
	{6, "HGET hkey field"},
	{6, "HMGET hkey field+"},
	{6, "(HGETALL|HKEYS|HVALS) hkey"},
	{4, "HLEN hkey"},
	{4, "(HSTRLEN|HEXISTS) hkey field"},
	{8, "HDEL hkey field+"},
	{8, "HINCRBY hkey field int"},
	{8, "HINCRBYFLOAT hkey field float"},
	{3, "HRANDFIELD hkey [(0|3|-3|100000|small) [WITHVALUES]]"},
	{3, "HSCAN hkey 0 COUNT 100000 [MATCH pattern]"},
	{2, "HSCAN hkey (0|X) (COUNT gone|COUNT X|TYPE HASH|MATCH)"},
	{4, "(RENAME|COPY) hkey hkey"},
	{4, "OBJECT ENCODING hkey"},
	{3, "(TYPE|DUMP) hkey"},
	{2, "DEL hkey"},
	{2, "SET hkey value"},
}

func init() {
	terms["hkey"] = drawHashKey
	terms["field"] = drawField
}

// drawHashKey draws a key that mostly holds a hash.
func drawHashKey(r *rand.Rand) string {
	if r.IntN(8) == 0 {
		return drawKey(r)
	}
	return pick(r, "h1", "h2", "{t}h", "h3")
}

func drawField(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0:
		return drawValue(r)
	case 1:
		return strconv.Itoa(r.IntN(5))
	default:
		return fmt.Sprintf("f%d", r.IntN(12))
	}
}

// hashExceptions are the exceptions for hashForms. In Redis a hash beyond hash-max-listpack-* is a
// hash table.
var hashExceptions = []Exception{
	{"HGETALL", "the fields with their values, sorted", "Redis promises no order; that of a large hash follows the hash seed of the process", canonicalPairs},
	{"HKEYS", "the fields, sorted", "Redis promises no order; that of a large hash follows the hash seed of the process", canonicalSet},
	{"HVALS", "the values, sorted", "Redis promises no order; that of a large hash follows the hash seed of the process", canonicalSet},
	{"HSCAN", "the fields of a whole walk with their values, sorted", "cursors are opaque; here they are the same on every node", canonicalPairScan},
	{"HRANDFIELD", "how many there are", "the choice is random in Redis, and a function of the log or of a seed here", canonicalCount},
}

// canonicalPairs sorts the pairs of a flat array or of a map.
func canonicalPairs(v respconn.Value) string {
	var all []string
	for i := 0; i+1 < len(v.Elems); i += 2 {
		all = append(all, string(v.Elems[i].Raw)+string(v.Elems[i+1].Raw))
	}
	slices.Sort(all)
	return fmt.Sprintf("%c%q", v.Kind, all)
}

func canonicalPairScan(v respconn.Value) string {
	if len(v.Elems) != 2 {
		return string(v.Raw)
	}
	return string(v.Elems[0].Raw) + canonicalPairs(v.Elems[1])
}

// canonicalCount returns the shape of a reply.
func canonicalCount(v respconn.Value) string {
	if v.Null {
		return string(v.Raw)
	}
	var shape strings.Builder
	fmt.Fprintf(&shape, "%c%d", v.Kind, len(v.Elems))
	for _, e := range v.Elems {
		fmt.Fprintf(&shape, " %c%d", e.Kind, len(e.Elems))
	}
	return shape.String()
}
