package main

import (
	"fmt"
	"os"
	"strings"
)

const (
	beginMark = "<!-- measured: begin (make bench writes this part) -->"
	endMark   = "<!-- measured: end -->"
	heading   = "### "
	// columnsMax is the longest line of prose in a document.
	columnsMax = 120
)

// section is the part of the page for one scenario.
type section struct {
	name, text string
}

// writeDocs puts sections into the measured part of a page. Sections of scenarios that did not run
// stay unchanged.
func writeDocs(path string, ran []section) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page := string(data)
	begin, end := strings.Index(page, beginMark), strings.Index(page, endMark)
	if begin < 0 || end < begin {
		return fmt.Errorf("%s has no place for the figures", path)
	}
	measured := mergeSections(page[begin+len(beginMark):end], ran)
	page = page[:begin+len(beginMark)] + "\n\n" + measured + page[end:]
	return os.WriteFile(path, []byte(page), 0o644)
}

// mergeSections replaces the old sections of those scenarios that ran, in the order of the
// scenarios.
func mergeSections(old string, ran []section) string {
	texts := map[string]string{}
	for _, part := range strings.Split("\n"+old, "\n"+heading)[1:] {
		name, text, _ := strings.Cut(part, "\n")
		texts[strings.TrimSpace(name)] = strings.TrimSpace(text)
	}
	for _, s := range ran {
		texts[s.name] = wrapped(strings.TrimSpace(s.text))
	}
	var b strings.Builder
	for _, s := range scenarios {
		if texts[s.name] != "" {
			fmt.Fprintf(&b, "%s%s\n\n%s\n\n", heading, s.name, texts[s.name])
		}
	}
	return b.String()
}

// wrapped breaks the lines of prose that are too long. Rows of tables stay whole.
func wrapped(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "|") {
			continue
		}
		var b strings.Builder
		column := 0
		for j, word := range strings.Split(line, " ") {
			switch {
			case j == 0:
			case column+1+len(word) > columnsMax:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
		lines[i] = b.String()
	}
	return strings.Join(lines, "\n")
}
