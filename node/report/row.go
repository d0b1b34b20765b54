package report

import (
	"fmt"
	"strings"

	"lockstep/node/metrics"
)

// rowOf is a field of INFO about a T. If Prometheus shows the same number, the row also has the
// metric's name and help: a counter is declared once, and INFO, a scrape and docs/monitoring.md all
// read its row.
type rowOf[T any] struct {
	field string
	// value is the number or the text that INFO shows. It is nil in a block.
	value func(*T) any
	// format is how INFO formats the value. With "" the value is printed unchanged.
	format string
	// lines writes the fields of a block, which depend on the state.
	lines func(*T, *infoText)
	// desc is the metric of the same number. If its name is empty, there is no metric.
	desc metrics.Desc
	// unit is the number in the unit of the metric. It is nil if that is the unit of value.
	unit func(*T) float64
}

// row is a field about the node. Its name stands in a line of its own.
type row = rowOf[look]

// show is a field with a value.
func show[T any](field string, value func(*T) any) rowOf[T] {
	return rowOf[T]{field: field, value: value}
}

// always is a field with a value that never changes. Most are about features of Redis that Lockstep
// does not have, but tools expect the fields.
func always(field string, value any) row { return show(field, func(*look) any { return value }) }

// block is a row of several fields that depend on the state.
func block(lines func(*look, *infoText)) row { return row{lines: lines} }

// as makes INFO print the value in a format.
func (r rowOf[T]) as(format string) rowOf[T] {
	r.format = format
	return r
}

// counter adds a metric that only grows, gauge one that goes up and down.
func (r rowOf[T]) counter(name, help string) rowOf[T] {
	r.desc = metrics.Desc{Name: name, Kind: metrics.Counter, Help: help}
	return r
}

func (r rowOf[T]) gauge(name, help string) rowOf[T] {
	r.desc = metrics.Desc{Name: name, Kind: metrics.Gauge, Help: help}
	return r
}

// in gives the metric a unit of its own.
func (r rowOf[T]) in(unit func(*T) float64) rowOf[T] {
	r.unit = unit
	return r
}

// info writes the row for INFO.
func (r *rowOf[T]) info(of *T, t *infoText) {
	if r.lines != nil {
		r.lines(of, t)
		return
	}
	t.add(r.field, r.text(of))
}

// text is the value as INFO prints it.
func (r *rowOf[T]) text(of *T) string {
	if r.format != "" {
		return fmt.Sprintf(r.format, r.value(of))
	}
	return fmt.Sprint(r.value(of))
}

// line is the fields of several rows in one line.
func line[T any](of *T, tables ...[]rowOf[T]) string {
	var all []string
	for _, rows := range tables {
		for i := range rows {
			all = append(all, rows[i].field+"="+rows[i].text(of))
		}
	}
	return strings.Join(all, ",")
}

// number is the value for Prometheus.
func (r *rowOf[T]) number(of *T) float64 {
	if r.unit != nil {
		return r.unit(of)
	}
	return number(r.value(of))
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
	return sharedOf(section, prefix, nil, rows, func(l *look, yield func(l *look, labels ...string)) { yield(l) })
}

// sharedOf is shared for rows about other things than the node: each calls yield with every one and
// with its labels.
func sharedOf[T any](section, prefix string, labels []string, rows []rowOf[T], each func(l *look, yield func(of *T, labels ...string))) (all []metric) {
	for i := range rows {
		r := &rows[i]
		if !strings.HasPrefix(r.desc.Name, prefix) {
			continue
		}
		desc := r.desc
		desc.Labels = labels
		all = append(all, metric{desc, "INFO " + section, func(l *look, p *metrics.Page) {
			each(l, func(of *T, labels ...string) { p.Add(r.number(of), labels...) })
		}})
	}
	return all
}

// redisNames are the metrics of rows that have the names of redis_exporter.
func redisNames() (all []metric) {
	for _, s := range infoSections {
		all = append(all, shared(s.name, "redis_", s.rows)...)
	}
	return append(all, sharedOf("commandstats", "redis_", ofCommand, commandRows, (*look).eachCommand)...)
}
