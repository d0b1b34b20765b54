package differential

import (
	"slices"
	"strconv"
	"strings"
)

// listForms are the forms of the commands on lists. There are few different elements, so that some
// are equal.
var listForms = []formText{
	{25, "(LPUSH|RPUSH) key (A|B|C|1|1000|-99999|value)+"},
	{6, "(LPUSH|RPUSH) key (A|B|1|value)+ (A|B|1|value)+ (A|B|1|value)+ (A|B|1|value)+"},
	{6, "(LPUSHX|RPUSHX) key (A|B|1|value)+"},
	{8, "(LPOP|RPOP) key [small]"},
	{6, "LLEN key"},
	{6, "LINDEX key small"},
	{10, "LRANGE key small small"},
	{6, "LRANGE key 0 -1"},
	{6, "LSET key small (A|B|1|value)"},
	{6, "LINSERT key (BEFORE|AFTER) (A|B|1|1000) (A|B|1|value)"},
	{4, "LTRIM key small small"},
	{6, "LREM key small (A|B|1|1000|value)"},
	{8, "LPOS key (A|B|1|1000|value) [RANK small] [COUNT small] [MAXLEN small]"},
	{8, "LMOVE key key (LEFT|RIGHT) (LEFT|RIGHT)"},
	{4, "RPOPLPUSH key key"},
	{5, "LMPOP 2 key key (LEFT|RIGHT) [COUNT small]"},
	{2, "LMPOP (0|1|3|X) key+ (LEFT|RIGHT) [COUNT small]"},
	{8, "(SORT|SORT_RO) key [LIMIT small small] [ASC|DESC] ALPHA"},
	{3, "(SORT|SORT_RO) key BY NOSORT [LIMIT small small] [ASC|DESC] [GET #] [GET CONSTANT]"},
	{4, "SORT key [LIMIT small small] [DESC] ALPHA [GET #] STORE key"},
	{4, "(SORT|SORT_RO) key ALPHA [DESC] (GET * GET #|GET G* GET #|GET *->F)"},
	{1, "(BLPOP|BRPOP) key key (0.001|0.001|X|-1)"},
	{1, "BLMOVE key key (LEFT|RIGHT) (LEFT|RIGHT) 0.001"},
	{1, "BRPOPLPUSH key key (0.001|0.001|X|-1)"},
	{1, "BLMPOP 0.001 2 key key (LEFT|RIGHT) [COUNT small]"},
}

// timeoutPlaces are the positions of the timeout in commands that wait; negative positions count
// from the end.
var timeoutPlaces = map[string]int{"BLPOP": -1, "BRPOP": -1, "BLMOVE": -1, "BRPOPLPUSH": -1, "BLMPOP": 1}

// answersSoon reports whether a command waits no longer than a moment: its timeout is a
// millisecond, or is refused. It also rejects commands that ask for many random members: Redis
// returns any number.
func answersSoon(args []string) bool {
	const fewDigits = 4
	switch strings.ToUpper(args[0]) {
	case "SRANDMEMBER", "HRANDFIELD", "ZRANDMEMBER":
		return len(args) < 3 || !strings.HasPrefix(args[2], "-") || len(args[2]) <= fewDigits
	}
	place, waits := timeoutPlaces[strings.ToUpper(args[0])]
	if place < 0 {
		place += len(args)
	}
	if !waits || place <= 0 || place >= len(args) || args[place] == "0.001" {
		return true
	}
	seconds, err := strconv.ParseFloat(args[place], 64)
	return seconds <= -1 || err != nil && strings.Trim(args[place], "0123456789.+-eExXpP_infatyINFATY") != ""
}

// leastInteger reports a command that Redis refuses only since version 7.2, because of an integer
// that cannot be negated.
func leastInteger(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "LREM", "LPOS":
		return slices.Contains(args, "-9223372036854775808")
	}
	return false
}

// readsNumbers reports a SORT by numbers. redis-server refuses valid numbers if any earlier command
// met one out of range (it reads a stale errno), so these are compared elsewhere.
func readsNumbers(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "SORT", "SORT_RO":
		return !slices.Contains(args, "ALPHA") && !slices.Contains(args, "NOSORT")
	}
	return false
}
