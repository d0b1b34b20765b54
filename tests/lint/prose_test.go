package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	proseColumnsMax = 120
	cellColumnsMax  = 200
	tabColumns      = 4
)

// unwritten lists folders and files whose prose has not been rewritten yet. The rules of this file
// skip them. To rewrite one, delete its line and correct the lines that the rules report. The goal
// is an empty list.
var unwritten = map[string]string{}

// notOurs lists files whose text comes from another source.
var notOurs = map[string]string{
	"docs/THIRD_PARTY.md": "generated from the licences of others",
}

// isUnwritten reports whether a path is in unwritten or below a folder in it. "node/*" means the
// files of node without its subfolders.
func isUnwritten(name string) bool {
	if notOurs[name] != "" || unwritten[path.Dir(name)+"/*"] != "" {
		return true
	}
	for ; name != "."; name = path.Dir(name) {
		if unwritten[name] != "" {
			return true
		}
	}
	return false
}

// dialect lists turns of phrase that are not English or that hide the actor. A question may ask
// "Who is the leader?". A clause after a comma is English, too ("the client, who has logged in,
// ...").
var dialect = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(for|to|of|by|with|from) who(ever)? `), "name the actor: \"for callers that ...\""},
	{regexp.MustCompile(`(^|[.;:] |\()[Ww]ho (is|has|may|asks|waits|serves|brings|comes|finds|wants)\b`), "name the actor: \"a client that ...\""},
	{regexp.MustCompile(`\bare had\b`), "say who has it"},
	{regexp.MustCompile(`\btells of\b`), "reports, shows, lists"},
	{regexp.MustCompile(`; (false|true|nil|0): `), "write a sentence: \"It returns false if ...\""},
	{regexp.MustCompile(`\b[Ww]hoever\b`), "name the actor: \"a program that ...\""},
	{regexp.MustCompile(`\b(borne|ceased?|ceases)\b`), "held, stopped"},
}

// sentenceEnd is the end of a sentence or of an independent clause.
var sentenceEnd = regexp.MustCompile(`[.!?](\s|$)`)

// spokenDialect finds dialect in a paragraph, which may have several lines.
func spokenDialect(where, subject, text string) (found []finding) {
	text = strings.Join(strings.Fields(text), " ")
	for _, d := range dialect {
		for _, at := range d.pattern.FindAllStringIndex(text, -1) {
			rest := text[at[1]:]
			if end := sentenceEnd.FindStringIndex(rest); end != nil && rest[end[0]] == '?' {
				continue
			}
			words := strings.TrimLeft(text[at[0]:min(len(text), at[1]+20)], ".;:(, ")
			found = append(found, finding{where, subject, fmt.Sprintf("%q: %s", words, d.why)})
		}
	}
	return found
}

// columns returns the width of a line in an editor.
func columns(line string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", strings.Repeat(" ", tabColumns)))
}

// unbroken reports whether a line cannot be broken, because it has a URL or one long word.
func unbroken(line string) bool {
	if strings.Contains(line, "://") {
		return true
	}
	for word := range strings.FieldsSeq(line) {
		if columns(word) > proseColumnsMax/2 {
			return true
		}
	}
	return false
}

// directives are comments that only tools read.
var directives = regexp.MustCompile(`^//(go:|nolint|line |export )`)

// commentsArePlain checks the comments of a Go file.
func commentsArePlain(s *source) (found []finding) {
	if isUnwritten(s.path) || ast.IsGenerated(s.file) || isProse(s.path) {
		return nil
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if directives.MatchString(c.Text) {
				continue
			}
			for i, line := range strings.Split(c.Text, "\n") {
				at := s.line(c.Pos()) + i
				if i == 0 {
					line = s.lead(c.Pos()) + line
				}
				if n := columns(line); n > proseColumnsMax && !unbroken(line) {
					found = append(found, finding{fmt.Sprintf("%s:%d", s.path, at), s.path,
						fmt.Sprintf("a line of %d columns in a comment; %d is the most", n, proseColumnsMax)})
				}
			}
		}
		for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
			found = append(found, spokenDialect(s.where(group), s.path, paragraph)...)
		}
	}
	return found
}

// lead returns the white space before a comment on its line, or "" if there is code before it.
func (s *source) lead(p token.Pos) string {
	offset := s.fset.Position(p).Offset
	line := s.text[strings.LastIndexByte(s.text[:offset], '\n')+1 : offset]
	if strings.TrimSpace(line) != "" {
		return ""
	}
	return line
}

// stringsArePlain checks the strings of a Go file, which a program or a test may print.
func stringsArePlain(s *source) (found []finding) {
	if isUnwritten(s.path) || ast.IsGenerated(s.file) || isProse(s.path) {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
			found = append(found, spokenDialect(s.where(lit), s.path, text)...)
		}
		return true
	})
	return found
}

// isProse reports whether a file is this one, which must contain the phrases that it forbids.
func isProse(name string) bool { return name == "tests/lint/prose_test.go" }

func TestCommentsArePlain(t *testing.T) { check(t, commentsArePlain) }
func TestStringsArePlain(t *testing.T)  { check(t, stringsArePlain) }

// cellMark separates the cells of a row. A bar after a backslash belongs to its cell.
var cellMark = regexp.MustCompile(`(^|[^\\])\|`)

// cells returns the cells of a table's row.
func cells(row string) []string {
	return strings.Split(cellMark.ReplaceAllString(row, "$1\x00"), "\x00")
}

// documentIsPlain checks the lines of prose, the cells of tables and the phrases of a Markdown
// page.
func documentIsPlain(name, text string) (found []finding) {
	if isUnwritten(name) {
		return nil
	}
	say := func(line int, format string, args ...any) {
		found = append(found, finding{fmt.Sprintf("%s:%d", name, line), name, fmt.Sprintf(format, args...)})
	}
	fenced, begin := false, 0
	var paragraph []string
	end := func() {
		found = append(found, spokenDialect(fmt.Sprintf("%s:%d", name, begin), name, strings.Join(paragraph, " "))...)
		paragraph = nil
	}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
		}
		switch {
		case fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(trimmed, "```"):
			end()
		case strings.HasPrefix(trimmed, "|"):
			end()
			for _, cell := range cells(trimmed) {
				if n := columns(strings.TrimSpace(cell)); n > cellColumnsMax {
					say(i+1, "a cell of %d characters; %d is the most: explain it under the table", n, cellColumnsMax)
				}
				found = append(found, spokenDialect(fmt.Sprintf("%s:%d", name, i+1), name, cell)...)
			}
		case trimmed == "":
			end()
		default:
			if n := columns(line); n > proseColumnsMax && !unbroken(line) {
				say(i+1, "a line of %d columns; %d is the most", n, proseColumnsMax)
			}
			if len(paragraph) == 0 || strings.HasPrefix(trimmed, "- ") {
				end()
				begin = i + 1
			}
			paragraph = append(paragraph, trimmed)
		}
	}
	end()
	return found
}

func TestDocumentsArePlain(t *testing.T) {
	names, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	for _, name := range names {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(), name))
		if err != nil {
			t.Fatal(err)
		}
		report(t, documentIsPlain(name, string(text)))
	}
}

// TestUnwrittenFoldersExist: a line for a folder that does not exist hides nothing now, and would
// hide a later folder of that name.
func TestUnwrittenFoldersExist(t *testing.T) {
	names, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	exists := existing(names)
	for name := range unwritten {
		if !exists[strings.TrimSuffix(name, "/*")] {
			t.Errorf("%s does not exist: delete its line in unwritten", name)
		}
	}
}

func TestProseRulesFindPlantedOffences(t *testing.T) {
	for text, n := range map[string]int{
		"It is for who serves many clients.":                 1,
		"The rules of whoever runs it.":                      2,
		"Who asks gets an answer.":                           1,
		"One comes; who waits is told.":                      1,
		"Its replicas are had elsewhere.":                    1,
		"INFO tells of it.":                                  1,
		"It returns the leader; nil: there is none.":         1,
		"Whoever reads it may stop.":                         1,
		"The costs are borne by the leader.":                 1,
		"Who may do what? The rules say it.":                 0,
		"The client, who has logged in, may ask.":            0,
		"A client that asks, for whom we wait, is told.":     0,
		"It is for whom it concerns, and says who leads it.": 0,
	} {
		if found := spokenDialect("a", "a", text); len(found) != n {
			t.Errorf("%q: %v, want %d", text, found, n)
		}
	}
	long := strings.Repeat("word ", 25)
	wantFindings(t, 1, commentsArePlain, "a.go", "package a\n\n// "+long+"\nvar x int\n")
	wantFindings(t, 1, commentsArePlain, "a.go", "package a\n\n// It serves\n// for who asks.\nvar x int\n")
	wantFindings(t, 0, commentsArePlain, "a.go", "package a\n\n// A client\n// who asks.\nvar x int\n")
	wantFindings(t, 0, commentsArePlain, "a.go", "package a\n\n// https://example.com/"+strings.Repeat("x", 120)+"\nvar x int\n")
	wantFindings(t, 1, stringsArePlain, "a.go", "package a\n\nvar x = \"a place for who asks\"\n")
	for text, n := range map[string]int{
		long + "\n":                               1,
		"    " + long + "\n":                      0,
		"```\n" + long + "\n```\n":                0,
		"| " + long + " |\n":                      0,
		"| " + long + long + " |\n":               1,
		"| " + long + ` \| ` + long[:60] + " |":   0,
		"It serves\nfor who asks.\n":              1,
		"| a | for who asks |\n":                  1,
		"## Who is the leader?\n\nWho asks it?\n": 0,
	} {
		if found := documentIsPlain("a.md", text); len(found) != n {
			t.Errorf("%q: %v, want %d", text, found, n)
		}
	}
}
