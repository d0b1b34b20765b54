package zsetcmd

// Error replies of the commands on sorted sets.
const (
	ErrScoreNaN       = "ERR resulting score is not a number (NaN)"
	ErrZAddNXXX       = "ERR XX and NX options at the same time are not compatible"
	ErrZAddGTLT       = "ERR GT, LT, and/or NX options at the same time are not compatible"
	ErrZAddIncr       = "ERR INCR option supports a single increment-element pair"
	ErrScoreRange     = "ERR min or max is not a float"
	ErrLexRange       = "ERR min or max not valid string range item"
	ErrRangeLimit     = "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	ErrRangeLexScores = "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	ErrWeight         = "ERR weight value is not a float"
)

// errNoInputKey is the error for a combination of no sorted sets.
func errNoInputKey(command string) string {
	return "ERR at least 1 input key is needed for '" + command + "' command"
}
