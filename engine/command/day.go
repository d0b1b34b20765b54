package command

// Two names for one moment: the log time, by which all is kept that has to do with time (expiries, when an entry of
// a stream was delivered), and the time of day, as clients mean it when they name a moment. The log time runs on
// evenly, however clocks are set; Ctx.DayOffsetMs leads from it to the time of day, and may change from txn to txn.

// DayOffsetMsMax bounds the offset between the two, either way: some 3,000 years. Times that are kept stay far
// within what their encodings hold.
const DayOffsetMsMax = 100_000_000_000_000

// dayMs is the time of day.
func (c *Ctx) dayMs() int64 { return c.toDay(c.NowMs) }

// toDay is a log time as a time of day. One that is too late to be a number is the last that is.
func (c *Ctx) toDay(ms int64) int64 { return addMs(ms, c.DayOffsetMs) }

// fromDay is a time of day as a log time. What lies before the log's beginning has passed, as 1 has: 0 would be no
// time at all.
func (c *Ctx) fromDay(ms int64) int64 {
	if at := addMs(ms, -c.DayOffsetMs); at > 0 || ms <= 0 {
		return at
	}
	return 1
}

// addMs adds an offset to a time; where the sum is no number, it is the nearest one.
func addMs(ms, offsetMs int64) int64 {
	const most = 1<<63 - 1
	switch {
	case offsetMs > 0 && ms > most-offsetMs:
		return most
	case offsetMs < 0 && ms < -most-offsetMs:
		return -most
	}
	return ms + offsetMs
}
