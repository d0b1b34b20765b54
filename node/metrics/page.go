// Package metrics writes numbers in Prometheus's text format, version 0.0.4, and keeps histograms
// of a node's frequent operations.
//
// A Page is filled metric by metric: Begin names the metric, Add and AddHistogram add its series.
// Names, label names and help come from tables in this program. Label values may be any text, and
// are escaped.
package metrics

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Kind says how a metric behaves over time.
type Kind string

const (
	// Counter only grows, or restarts at 0.
	Counter Kind = "counter"
	// Gauge goes up and down.
	Gauge Kind = "gauge"
	// Distribution is a histogram: it counts, for each of some bounds, the values that are no
	// greater.
	Distribution Kind = "histogram"
)

// ContentType is the media type of a page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Desc describes a metric.
type Desc struct {
	// Name ends in its unit, and in _total if it is a counter.
	Name string
	Kind Kind
	// Help is one line that says what is counted or measured.
	Help string
	// Labels are the names of the labels that all its series have.
	Labels []string
}

// Page is a page of metrics that is being written.
type Page struct {
	b    bytes.Buffer
	desc *Desc
	// headed means that the metric's head has been written. It is written with the first series.
	headed bool
}

// Begin names the metric of the next series. A metric without series is left out of the page.
func (p *Page) Begin(d *Desc) { p.desc, p.headed = d, false }

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func (p *Page) head() {
	if p.headed {
		return
	}
	p.headed = true
	p.b.WriteString("# HELP " + p.desc.Name + " ")
	_, _ = helpEscapes.WriteString(&p.b, p.desc.Help)
	p.b.WriteString("\n# TYPE " + p.desc.Name + " " + string(p.desc.Kind) + "\n")
}

// Add writes one series. The values are those of the metric's labels, in their order.
func (p *Page) Add(v float64, labelValues ...string) {
	p.head()
	p.series("", labelValues, "", v)
}

// AddHistogram writes one histogram, as Add writes a number.
func (p *Page) AddHistogram(s Snapshot, labelValues ...string) {
	p.head()
	for i, bound := range s.Bounds {
		p.series("_bucket", labelValues, number(bound), float64(s.Cumulated[i]))
	}
	p.series("_bucket", labelValues, "+Inf", float64(s.Count))
	p.series("_sum", labelValues, "", s.Sum)
	p.series("_count", labelValues, "", float64(s.Count))
}

// series writes one line. le is the bound of a histogram's bucket, or "" if there is none.
func (p *Page) series(suffix string, labelValues []string, le string, v float64) {
	p.b.WriteString(p.desc.Name + suffix)
	sep := byte('{')
	label := func(name, value string) {
		p.b.WriteByte(sep)
		sep = ','
		p.b.WriteString(name + `="`)
		_, _ = valueEscapes.WriteString(&p.b, strings.ToValidUTF8(value, "\uFFFD"))
		p.b.WriteByte('"')
	}
	for i, name := range p.desc.Labels {
		label(name, labelValues[i])
	}
	if le != "" {
		label("le", le)
	}
	if sep == ',' {
		p.b.WriteByte('}')
	}
	p.b.WriteString(" " + number(v) + "\n")
}

// number formats a number for Prometheus.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Bytes is the page as written so far.
func (p *Page) Bytes() []byte { return p.b.Bytes() }
