package streamcmd

// Internals of the package that tests in other packages use.

var (
	ReadStreamsAt = readStreamsAt
	LatestIDs     = latestIDs
)
