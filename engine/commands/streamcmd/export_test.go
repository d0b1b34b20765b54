package streamcmd

// What tests reach of the package's inside.

var (
	ReadStreamsAt = readStreamsAt
	LatestIDs     = latestIDs
)
