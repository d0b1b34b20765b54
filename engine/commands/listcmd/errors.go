package listcmd

// Error replies of commands on lists.
const (
	ErrRankZero       = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list"
	ErrNegativeCount  = "ERR COUNT can't be negative"
	ErrNegativeMaxLen = "ERR MAXLEN can't be negative"
)
