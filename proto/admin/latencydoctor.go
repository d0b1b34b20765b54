package admin

import (
	"fmt"
	"strings"

	"lockstep/proto/stats"
)

// advices are the texts of LATENCY DOCTOR for events.
var advices = []struct {
	events []string
	text   string
}{
	{[]string{stats.EventCommand, stats.EventFastCommand}, "SLOWLOG GET shows which commands were slow, and INFO latencystats which are usually. What a client waits for a write includes the disks of a quorum."},
	{[]string{stats.EventCommand}, "Commands over whole collections (KEYS, SMEMBERS, HGETALL, LRANGE of all) take time with their size: SCAN and its kin walk in steps, UNLINK frees large values in the background."},
	{[]string{stats.EventSync}, "The disk of this node is slow to write the log down. Give the data folder a disk of its own with a fast flush, and see what else writes to it."},
	{[]string{stats.EventCommit}, "A quorum was slow to take entries: look at raft-fsync on the other nodes, and at the network between them."},
	{[]string{stats.EventSnapshot}, "Snapshots are written beside the commands; a long one takes disk bandwidth from the log. raft-snapshot-bytes and raft-snapshot-entries say how often they come."},
	{[]string{stats.EventExpire}, "Many keys expire at one time. Spread their expiries if that slows other commands."},
}

// doctor describes in words what is unusual in the histories.
func doctor(histories []stats.LatencyHistory, thresholdMs int64) string {
	if len(histories) == 0 {
		if thresholdMs == 0 {
			return "Latency monitoring is off. CONFIG SET latency-monitor-threshold <milliseconds> turns it on: events that take as long or longer are kept.\n"
		}
		return fmt.Sprintf("No event has taken %d ms or longer since the monitoring began or was reset.\n", thresholdMs)
	}
	var b strings.Builder
	b.WriteString("Events that took long:\n\n")
	seen := map[string]bool{}
	for i := range histories {
		h := &histories[i]
		seen[h.Event] = true
		mean, deviation, period := summary(h)
		fmt.Fprintf(&b, "%d. %s: %d latency spikes (average %dms, mean deviation %dms, period %.2f sec). Worst all time event %dms.\n",
			i+1, h.Event, len(h.Samples), mean, deviation, period, h.MaxMs)
	}
	b.WriteString("\nWhat may help:\n\n")
	for _, a := range advices {
		for _, e := range a.events {
			if seen[e] {
				b.WriteString("- " + a.text + "\n")
				break
			}
		}
	}
	return b.String()
}

// summary is the mean of the samples, their mean deviation from it, and the mean
// time between them.
func summary(h *stats.LatencyHistory) (meanMs, deviationMs int64, periodSec float64) {
	n := int64(len(h.Samples))
	for _, s := range h.Samples {
		meanMs += s.Ms
	}
	meanMs /= n
	for _, s := range h.Samples {
		deviationMs += max(s.Ms-meanMs, meanMs-s.Ms)
	}
	first, last := h.Samples[0].UnixSec, h.Samples[n-1].UnixSec
	return meanMs, deviationMs / n, float64(max(last-first, 1)) / float64(n)
}
