package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"lockstep/tests/kit/respconn"
)

// streamForms are the forms of the commands on streams. IDs are small numbers, so that commands
// meet; none comes from a clock. XSETID goes far ahead: 7.0 accepts IDs below the deleted ones,
// which 7.2 refuses.
var streamForms = []formText{
	{60, "XADD stream newid (FIELD value)+"},
	{10, "XADD stream newid A value B value"},
	{10, "XADD stream [NOMKSTREAM] [MAXLEN small|MAXLEN ~ small|MAXLEN ~ small LIMIT small|MINID entryid|MINID ~ entryid] newid A value"},
	{3, "XADD stream (MAXLEN X|MAXLEN 5 LIMIT 5|MINID 1 MAXLEN 2|LIMIT 3|FOO) newid A value"},
	{6, "XLEN stream"},
	{10, "(XRANGE|XREVRANGE) stream streamedge streamedge [COUNT small]"},
	{8, "XDEL stream entryid+"},
	{5, "XTRIM stream (MAXLEN|MINID) [=|~] small"},
	{1, "XSETID stream 99999-0 [ENTRIESADDED 100000] [MAXDELETEDID 70-0]"},
	{10, "XREAD [COUNT small] STREAMS (stream entryid|stream 0|stream stream 0 entryid|stream $)"},
	{10, "XGROUP CREATE stream group (0|$|entryid) [MKSTREAM]"},
	{2, "XGROUP CREATE stream group (X|0 ENTRIESREAD small|0 FOO)"},
	{2, "XTRIM stream (LIMIT small|FOO small|MAXLEN small LIMIT small)"},
	{3, "XGROUP SETID stream group (0|$|entryid) [ENTRIESREAD 3]"},
	{1, "XGROUP DESTROY stream group"},
	{2, "XGROUP (CREATECONSUMER|DELCONSUMER) stream group consumer"},
	{25, "XREADGROUP GROUP group consumer [COUNT 3|COUNT 1] [NOACK] STREAMS (stream >|stream stream > >)"},
	{8, "XREADGROUP GROUP group consumer [COUNT 3] STREAMS stream (0|entryid)"},
	{8, "XACK stream group entryid+"},
	{5, "XPENDING stream group"},
	{6, "XPENDING stream group [IDLE 0|IDLE 1000000000] streamedge streamedge small [consumer]"},
	{6, "XCLAIM stream group consumer (0|0|1000000000|X) entryid+ [FORCE] [JUSTID] [TIME 1000] [RETRYCOUNT small] [LASTID entryid]"},
	{5, "XAUTOCLAIM stream group consumer (0|0|1000000000|X) (0|entryid) [COUNT small] [JUSTID]"},
	{4, "XINFO STREAM stream"},
	{4, "XINFO STREAM stream FULL [COUNT small]"},
	{4, "XINFO GROUPS stream"},
	{3, "XINFO CONSUMERS stream group"},
	{2, "(DEL|DUMP|OBJECT ENCODING) stream"},
	{1, "COMMAND GETKEYS (XREAD STREAMS A B 0 0|XGROUP CREATE A G 0|XADD A 1 F V|XREADGROUP GROUP G C STREAMS A B > >)"},
}

func init() {
	terms["stream"] = func(r *rand.Rand) string {
		if r.IntN(12) == 0 {
			return drawKey(r)
		}
		return pick(r, "{s}1", "{s}2", "s3")
	}
	terms["entryid"] = func(r *rand.Rand) string {
		switch r.IntN(20) {
		case 0:
			return pick(r, "0-0", "(5", "-", "x", "18446744073709551615-18446744073709551615", "5-x", "")
		case 1, 2:
			return fmt.Sprint(r.IntN(70))
		}
		return fmt.Sprintf("%d-%d", r.IntN(70), r.IntN(4))
	}
	terms["streamedge"] = func(r *rand.Rand) string {
		return pick(r, "-", "-", "+", "+", terms["entryid"](r), "("+terms["entryid"](r))
	}
	terms["newid"] = func(r *rand.Rand) string {
		if r.IntN(15) == 0 {
			return terms["entryid"](r)
		}
		// In the end most are below the last ID; a deletion starts again.
		return fmt.Sprintf("%d-*", r.IntN(70))
	}
	terms["group"] = func(r *rand.Rand) string { return pick(r, "G", "G", "H") }
	terms["consumer"] = func(r *rand.Rand) string { return pick(r, "ALICE", "BOB", "CAROL", "12") }
}

// streamsPaired reports whether XREAD and XREADGROUP have as many IDs as keys, or no STREAMS at
// all: 7.2 refuses other commands with another text than 7.0.
func streamsPaired(args []string) bool {
	if name := strings.ToUpper(args[0]); name != "XREAD" && name != "XREADGROUP" {
		return true
	}
	at := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "STREAMS") })
	return at < 0 || (len(args)-at)%2 == 1
}

const (
	consumersReason = "Redis 7.2 makes a consumer, and says when it last got something, whether or not there is something for it; 7.0 only if there is"
	lagReason       = "Redis 7.2.7 reckons anew how far a group has read where entries were deleted"
)

// field is the value of a name in a map or a flat array of names and values.
func field(v respconn.Value, name string) respconn.Value {
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if string(v.Elems[i].Bytes) == name {
			return v.Elems[i+1]
		}
	}
	return respconn.Value{}
}

func consumersWithPending(v respconn.Value) string {
	text := string(v.Kind)
	for _, c := range v.Elems {
		if n := field(c, "pending"); string(n.Bytes) != "0" {
			text += fmt.Sprintf(" %q %q", field(c, "name").Raw, n.Raw)
		}
	}
	return text
}

func groupsWithoutLag(v respconn.Value) string {
	text := string(v.Kind)
	for _, g := range v.Elems {
		text += fmt.Sprintf(" %c%d %q %q %q", g.Kind, len(g.Elems), field(g, "name").Raw, field(g, "pending").Raw, field(g, "last-delivered-id").Raw)
	}
	return text
}

// pendingWithoutTimes is canonical for XPENDING, whose entries are ID, consumer, time and count.
func pendingWithoutTimes(v respconn.Value) string {
	text := fmt.Sprintf("%c%d", v.Kind, len(v.Elems))
	for _, p := range v.Elems {
		if len(p.Elems) != 4 {
			return string(v.Raw)
		}
		text += fmt.Sprintf(" %q %q %q", p.Elems[0].Raw, p.Elems[1].Raw, p.Elems[3].Raw)
	}
	return text
}

// streamInfo is canonical for XINFO STREAM.
func streamInfo(v respconn.Value) string {
	entries := field(v, "entries")
	if entries.Kind == 0 {
		return string(v.Raw) // without FULL
	}
	text := fmt.Sprintf("%c%d", v.Kind, len(v.Elems))
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if name := string(v.Elems[i].Bytes); name != "groups" {
			text += fmt.Sprintf("\n%s %q", name, v.Elems[i+1].Raw)
		}
	}
	for _, g := range field(v, "groups").Elems {
		text += fmt.Sprintf("\ngroup %q %q %q %s", field(g, "name").Raw, field(g, "last-delivered-id").Raw, field(g, "pel-count").Raw,
			pendingWithoutTimes(field(g, "pending")))
	}
	return text
}
