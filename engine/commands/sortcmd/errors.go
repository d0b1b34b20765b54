package sortcmd

// Error replies of SORT.
const (
	ErrSortBy        = "ERR BY option of SORT denied in cluster mode."
	ErrSortByUser    = "ERR BY option of SORT denied due to insufficient ACL permissions."
	ErrSortGetUser   = "ERR GET option of SORT denied due to insufficient ACL permissions."
	ErrSortGet       = "ERR GET option of SORT denied in cluster mode."
	ErrSortNotDouble = "ERR One or more scores can't be converted into double"
)
