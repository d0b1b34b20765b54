package main

import (
	"fmt"
	"slices"
	"strings"
)

// sample holds the results of one measurement over several rounds.
type sample []float64

func (s sample) median() float64 {
	if len(s) == 0 {
		return 0
	}
	c := slices.Clone(s)
	slices.Sort(c)
	if n := len(c); n%2 == 0 {
		return (c[n/2-1] + c[n/2]) / 2
	}
	return c[len(c)/2]
}

// spread is the distance between the extremes, relative to the median.
func (s sample) spread() float64 {
	if len(s) == 0 || s.median() == 0 {
		return 0
	}
	return (slices.Max(s) - slices.Min(s)) / s.median()
}

// row is one line of the report: a measurement of both sides.
type row struct {
	name string
	// unit is the unit of the figures. higher is true if more is better.
	unit   string
	higher bool
	redis  sample
	ours   sample
	// target is the ratio ours/redis to reach (higher) or to stay under. If it is 0, the ratio is
	// only printed.
	target float64
	note   string
}

// add stores a figure for the server's side.
func (r *row) add(s *server, figure float64) {
	if s.isRedis() {
		r.redis = append(r.redis, figure)
	} else {
		r.ours = append(r.ours, figure)
	}
}

func (r *row) ratio() float64 {
	if r.redis.median() == 0 {
		return 0
	}
	return r.ours.median() / r.redis.median()
}

func (r *row) verdict() string {
	if r.target == 0 {
		return ""
	}
	if (r.higher && r.ratio() >= r.target) || (!r.higher && r.ratio() <= r.target) {
		return "ok"
	}
	return "missed"
}

func (r *row) targetText() string {
	if r.target == 0 {
		return ""
	}
	if r.higher {
		return fmt.Sprintf(">= %.2f", r.target)
	}
	return fmt.Sprintf("<= %.2f", r.target)
}

func figure(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v >= 10000:
		return fmt.Sprintf("%.1fk", v/1000)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// markdown renders rows as a table.
func markdown(rows []*row) string {
	var b strings.Builder
	b.WriteString("| measure | unit | Redis | Lockstep | ratio | target | | spread (Redis, ours) | |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		ratio := "-"
		if r.ratio() != 0 {
			ratio = fmt.Sprintf("%.2f", r.ratio())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %.0f%%, %.0f%% | %s |\n", r.name, r.unit,
			figure(r.redis.median()), figure(r.ours.median()), ratio, r.targetText(), r.verdict(),
			100*r.redis.spread(), 100*r.ours.spread(), r.note)
	}
	return b.String()
}
