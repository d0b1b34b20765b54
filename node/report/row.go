package report

import (
	"fmt"
	"strings"

	"lockstep/node/metrics"
)

// row is a field of INFO. Where Prometheus is told the same number, the row has the metric's name and help,
// too: a counter is declared once, and INFO, a scrape and docs/monitoring.md all read its row.
type row struct {
	field string
	// value is the number, or the text that INFO shows; nil: the row is a block.
	value func(*look) any
	// format is how INFO writes the value, "": as it is.
	format string
	// lines writes the fields of a block, which depend on what there is.
	lines func(*look, *infoText)
	// desc is the metric of the same number; without a name there is none.
	desc metrics.Desc
}

// show is a field with a value.
func show(field string, value func(*look) any) row { return row{field: field, value: value} }

// always is a field with a value that never changes: most are of things that are not here, and that tools expect.
func always(field string, value any) row { return show(field, func(*look) any { return value }) }

// block is several fields that depend on what there is.
func block(lines func(*look, *infoText)) row { return row{lines: lines} }

// as has INFO write the value in a format.
func (r row) as(format string) row {
	r.format = format
	return r
}

// counter tells Prometheus the number as one that only grows, gauge as one that goes up and down.
func (r row) counter(name, help string) row {
	r.desc = metrics.Desc{Name: name, Kind: metrics.Counter, Help: help}
	return r
}

func (r row) gauge(name, help string) row {
	r.desc = metrics.Desc{Name: name, Kind: metrics.Gauge, Help: help}
	return r
}

// info writes the row for INFO.
func (r *row) info(l *look, t *infoText) {
	switch {
	case r.lines != nil:
		r.lines(l, t)
	case r.format != "":
		t.add(r.field, fmt.Sprintf(r.format, r.value(l)))
	default:
		t.add(r.field, r.value(l))
	}
}

// number is a row's value for Prometheus.
func number(value any) float64 {
	switch v := value.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		return v
	}
	panic(fmt.Sprintf("%T is no number", value))
}

// shared are the metrics of rows whose names begin with a prefix.
func shared(section, prefix string, rows []row) []metric {
	var all []metric
	for i := range rows {
		if r := &rows[i]; strings.HasPrefix(r.desc.Name, prefix) {
			read := func(l *look, p *metrics.Page) { p.Add(number(r.value(l))) }
			all = append(all, metric{r.desc, "INFO " + section, read})
		}
	}
	return all
}

// redisNames are the rows that Prometheus is told under the names of redis_exporter.
func redisNames() (all []metric) {
	for _, s := range infoSections {
		all = append(all, shared(s.name, "redis_", s.rows)...)
	}
	return all
}
