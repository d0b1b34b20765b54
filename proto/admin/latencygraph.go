package admin

import (
	"fmt"
	"strings"

	"lockstep/proto/stats"
)

// The graph of LATENCY GRAPH is Redis's: each sample is a column of a fixed number
// of rows, and each row has three heights. Below each column its age is written
// from top to bottom.
const (
	graphColumns = 80
	graphRows    = 4
	graphHeights = "_o#"
)

// graph draws a history as of nowSec.
func graph(h *stats.LatencyHistory, nowSec int64) string {
	low, high := h.Samples[0].Ms, h.Samples[0].Ms
	for _, s := range h.Samples {
		low, high = min(low, s.Ms), max(high, s.Ms)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s - high %d ms, low %d ms (all time high %d ms)\n", h.Event, high, low, h.MaxMs)
	b.WriteString(strings.Repeat("-", graphColumns) + "\n")
	for first := 0; first < len(h.Samples); first += graphColumns {
		if first > 0 {
			b.WriteByte('\n')
		}
		drawRange(&b, h.Samples[first:min(first+graphColumns, len(h.Samples))], low, high, nowSec)
	}
	return b.String()
}

func drawRange(b *strings.Builder, samples []stats.LatencySample, low, high, nowSec int64) {
	const steps = graphRows * len(graphHeights)
	for row := range graphRows {
		for _, s := range samples {
			step := min(int((s.Ms-low)*int64(steps)/max(high-low, 1)), steps-1)
			switch height := step - (graphRows-row-1)*len(graphHeights); {
			case height < 0:
				b.WriteByte(' ')
			case height < len(graphHeights):
				b.WriteByte(graphHeights[height])
			default:
				b.WriteByte('|')
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString(strings.Repeat(" ", len(samples)) + "\n")
	labels, longest := make([]string, len(samples)), 0
	for i, s := range samples {
		labels[i] = ago(nowSec - s.UnixSec)
		longest = max(longest, len(labels[i]))
	}
	for at := range longest {
		for _, l := range labels {
			if at < len(l) {
				b.WriteByte(l[at])
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
}

// ago is an age in the largest unit that fits.
func ago(sec int64) string {
	switch {
	case sec < 60:
		return fmt.Sprintf("%ds", sec)
	case sec < 3600:
		return fmt.Sprintf("%dm", sec/60)
	case sec < 24*3600:
		return fmt.Sprintf("%dh", sec/3600)
	}
	return fmt.Sprintf("%dd", sec/(24*3600))
}
