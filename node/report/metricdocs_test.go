package report

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"lockstep/node/metrics"
	"lockstep/tests/kit/golden"
)

const (
	monitoringPath = "../../docs/monitoring.md"
	listBegins     = "<!-- The list below is generated from the tables in node by make docs. Do not edit. -->\n"
)

// The list in docs/monitoring.md is made from the tables: `make docs`.
func TestDocumentationIsTheMetrics(t *testing.T) {
	data, err := os.ReadFile(monitoringPath)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(data), listBegins)
	if !found {
		t.Fatalf("%s has no line %q", monitoringPath, listBegins)
	}
	golden.Check(t, monitoringPath, head+listBegins+metricsList())
}

func metricsList() string {
	var b strings.Builder
	for _, table := range metricTables {
		fmt.Fprintf(&b, "\n### %s\n\n| metric | type | labels | what it is | from |\n|---|---|---|---|---|\n", table.title)
		for i := range table.rows {
			m := &table.rows[i]
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(m.Labels, ", "), strings.ReplaceAll(m.Help, "|", `\|`), m.from)
		}
	}
	return b.String()
}

// Names follow Prometheus's rules, are declared only once, and have a help text.
func TestMetricsAreWellNamed(t *testing.T) {
	name := regexp.MustCompile(`^(lockstep|redis|process|go)_[a-z0-9_]+$`)
	seen := map[string]bool{}
	for _, table := range metricTables {
		for i := range table.rows {
			m := &table.rows[i]
			if seen[m.Name] || !name.MatchString(m.Name) {
				t.Errorf("%s is declared twice or is no name", m.Name)
			}
			seen[m.Name] = true
			if m.Help == "" || m.from == "" || m.read == nil || strings.Contains(m.Help, "\n") {
				t.Errorf("%s lacks something", m.Name)
			}
			ours := strings.HasPrefix(m.Name, "lockstep_")
			if total := strings.HasSuffix(m.Name, "_total"); ours && total && m.Kind != metrics.Counter {
				t.Errorf("%s ends in _total and is a %s", m.Name, m.Kind)
			}
			for _, l := range m.Labels {
				if l == "le" || l == "quantile" || l == "instance" || l == "job" {
					t.Errorf("%s has the label %s, which is Prometheus's own", m.Name, l)
				}
			}
		}
	}
}

// TestRowsAreFields: a row is either a field of INFO that no other row has, or a block of fields.
func TestRowsAreFields(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range infoSections {
		for i := range s.rows {
			r := &s.rows[i]
			if block := r.lines != nil; block != (r.field == "") || block != (r.value == nil) || block && r.desc.Name != "" {
				t.Errorf("%s: row %d is neither a field nor a block", s.name, i)
			}
			if r.field != "" && seen[r.field] {
				t.Errorf("%s stands twice in INFO", r.field)
			}
			seen[r.field] = true
		}
	}
	for _, fields := range []map[string]int{fieldsOf(groupRows), fieldsOf(shardRows), fieldsOf(lockRows), fieldsOf(commandRows)} {
		for field, n := range fields {
			if n != 1 || field == "" {
				t.Errorf("%d parts of a line have the name %q", n, field)
			}
		}
	}
	for _, value := range []any{int(3), int64(3), uint64(3), float64(3)} {
		if number(value) != 3 {
			t.Errorf("%T: %v", value, number(value))
		}
	}
}

// fieldsOf counts the rows of each name.
func fieldsOf[T any](rows []rowOf[T]) map[string]int {
	all := map[string]int{}
	for i := range rows {
		all[rows[i].field]++
	}
	return all
}
