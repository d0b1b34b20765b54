package report

import (
	"fmt"
	"strings"

	"lockstep/node/metrics"
)

// row is a field of INFO. If Prometheus shows the same number, the row also has the metric's name
// and help: a counter is declared once, and INFO, a scrape and docs/monitoring.md all read its row.
type row struct {
	field string
	// value is the number or the text that INFO shows. It is nil in a block.
	value func(*look) any
	// format is how INFO formats the value. With "" the value is printed unchanged.
	format string
	// lines writes the fields of a block, which depend on the state.
	lines func(*look, *infoText)
	// desc is the metric of the same number. If its name is empty, there is no metric.
	desc metrics.Desc
}

// show is a field with a value.
func show(field string, value func(*look) any) row { return row{field: field, value: value} }

// always is a field with a value that never changes. Most are about features of Redis that Lockstep
// does not have, but tools expect the fields.
func always(field string, value any) row { return show(field, func(*look) any { return value }) }

// block is a row of several fields that depend on the state.
func block(lines func(*look, *infoText)) row { return row{lines: lines} }

// as makes INFO print the value in a format.
func (r row) as(format string) row {
	r.format = format
	return r
}

// counter adds a metric that only grows, gauge one that goes up and down.
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

// number converts a row's value for Prometheus.
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

// shared are the metrics of the rows whose metric name begins with a prefix.
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

// redisNames are the metrics of rows that have the names of redis_exporter.
func redisNames() (all []metric) {
	for _, s := range infoSections {
		all = append(all, shared(s.name, "redis_", s.rows)...)
	}
	return all
}
