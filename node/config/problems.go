package config

import (
	"errors"
	"fmt"
	"strings"
)

// problems collects errors, up to a bound.
type problems struct {
	list []error
	more int
}

const problemsMax = 20

func (p *problems) add(where, format string, args ...any) {
	if len(p.list) >= problemsMax {
		p.more++
		return
	}
	text := fmt.Sprintf(format, args...)
	if where != "" {
		text = where + ": " + text
	}
	p.list = append(p.list, errors.New(text))
}

// err joins the problems; nil if there are none.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	list := p.list
	if p.more > 0 {
		list = append(list, fmt.Errorf("and %d more", p.more))
	}
	return errors.Join(list...)
}

// unknown is the message for a name that is not in the table. It proposes the
// nearest name.
func unknown(what, name string) string {
	text := fmt.Sprintf("unknown %s %q", what, name)
	if near, ok := nearest(name); ok {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// nearest is the directive whose name needs the fewest edits, if they are few.
func nearest(name string) (string, bool) {
	name = strings.ToLower(name)
	best, bestEdits := "", 1+max(2, len(name)/4)
	for _, d := range table {
		for _, candidate := range d.Names() {
			if n := edits(name, candidate); n < bestEdits {
				best, bestEdits = candidate, n
			}
		}
	}
	return best, best != ""
}

// edits is the Levenshtein distance. It keeps one row of the matrix at a time. A text that is much
// longer than any name counts as far from all names.
func edits(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
