package fsm

import (
	"fmt"
	"strings"
)

// streamKey is a key that usually holds a stream.
func (l *simLog) streamKey() string {
	if l.rng.IntN(20) == 0 {
		return string(l.word())
	}
	return fmt.Sprintf("{k%d}stream", l.rng.IntN(2))
}

func (l *simLog) streamGroup() string    { return fmt.Sprint("g", l.rng.IntN(2)) }
func (l *simLog) streamConsumer() string { return fmt.Sprint("consumer-", l.rng.IntN(4)) }

// streamTrim are options of XADD and XTRIM.
func (l *simLog) streamTrim() []string {
	return [][]string{
		{"MAXLEN", fmt.Sprint(20 + l.rng.IntN(60))},
		{"MAXLEN", "~", fmt.Sprint(l.rng.IntN(60)), "LIMIT", fmt.Sprint(l.rng.IntN(60))},
		{"MINID", fmt.Sprintf("1-%d", l.rng.IntN(80))},
		{"MINID", "~", fmt.Sprintf("1-%d", l.rng.IntN(80))},
	}[l.rng.IntN(4)]
}

// streamID is an ID that XADD made while the key was new, when IDs are small, or one before all IDs
// of the clock.
func (l *simLog) streamID() string { return fmt.Sprintf("1-%d", l.rng.IntN(80)) }

func init() {
	sensible["xadd"] = func(l *simLog) []string {
		args := []string{l.streamKey()}
		if l.rng.IntN(20) == 0 {
			args = append(args, l.streamTrim()...)
		}
		// An automatic ID ends the time of small IDs.
		id := "1-*"
		if l.rng.IntN(300) == 0 {
			id = "*"
		}
		// Long values, so that nodes fill.
		args = append(args, id, "field", strings.Repeat(fmt.Sprint(l.rng.IntN(1000)), 1+l.rng.IntN(400)))
		if l.rng.IntN(4) == 0 {
			args = append(args, string(l.word()), string(l.word()))
		}
		return args
	}
	sensible["xtrim"] = func(l *simLog) []string { return append([]string{l.streamKey()}, l.streamTrim()...) }
	sensible["xdel"] = func(l *simLog) []string { return []string{l.streamKey(), l.streamID(), l.streamID()} }
	sensible["xlen"] = func(l *simLog) []string { return []string{l.streamKey()} }
	sensible["xrange"] = func(l *simLog) []string { return []string{l.streamKey(), l.streamID(), "+", "COUNT", "5"} }
	sensible["xrevrange"] = func(l *simLog) []string { return []string{l.streamKey(), "+", l.streamID(), "COUNT", "5"} }
	sensible["xread"] = func(l *simLog) []string {
		return []string{"COUNT", "3", "BLOCK", "0", "STREAMS", l.streamKey(), l.streamKey(), l.streamID(), "$"}
	}
	sensible["xreadgroup"] = func(l *simLog) []string {
		id := ">"
		if l.rng.IntN(4) == 0 {
			id = l.streamID()
		}
		return []string{"GROUP", l.streamGroup(), l.streamConsumer(), "COUNT", fmt.Sprint(1 + l.rng.IntN(20)), "STREAMS", l.streamKey(), id}
	}
	sensible["xack"] = func(l *simLog) []string {
		return []string{l.streamKey(), l.streamGroup(), l.streamID(), l.streamID(), l.streamID()}
	}
	sensible["xclaim"] = func(l *simLog) []string {
		return []string{l.streamKey(), l.streamGroup(), l.streamConsumer(), fmt.Sprint(l.rng.IntN(80)), l.streamID(), l.streamID(), "FORCE"}
	}
	sensible["xautoclaim"] = func(l *simLog) []string {
		return []string{l.streamKey(), l.streamGroup(), l.streamConsumer(), fmt.Sprint(l.rng.IntN(80)), l.streamID(), "COUNT", "7"}
	}
	sensible["xpending"] = func(l *simLog) []string {
		return []string{l.streamKey(), l.streamGroup(), "IDLE", fmt.Sprint(l.rng.IntN(80)), "-", "+", "10"}
	}
	sensible["xsetid"] = func(l *simLog) []string {
		return []string{l.streamKey(), fmt.Sprintf("1-%d", 60+l.rng.IntN(60))}
	}
	// The arguments for a container's subcommand follow its name.
	sensible["xgroup"] = func(l *simLog) []string {
		key, group := l.streamKey(), l.streamGroup()
		return [][]string{
			{"CREATE", key, group, "$", "MKSTREAM"},
			{"CREATE", key, group, "0", "MKSTREAM"},
			{"SETID", key, group, l.streamID()},
			{"CREATECONSUMER", key, group, l.streamConsumer()},
			{"DELCONSUMER", key, group, l.streamConsumer()},
		}[l.rng.IntN(5)]
	}
	sensible["xinfo"] = func(l *simLog) []string {
		key := l.streamKey()
		return [][]string{{"STREAM", key, "FULL"}, {"STREAM", key}, {"GROUPS", key}, {"CONSUMERS", key, l.streamGroup()}}[l.rng.IntN(4)]
	}
}
