package config

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Bounds on the configuration files.
const (
	includeDepthMax = 16
	includesMax     = 1000
	lineBytesMax    = 1 << 20
	fileBytesMax    = 16 << 20
)

// fileReader turns redis.conf text into assignments. It reads on after an
// error, so that one start shows all that is wrong.
type fileReader struct {
	found    []assignment
	problems problems
	includes int
}

// open reads one file. As in Redis, a relative path starts at the folder in which the process runs,
// not at the folder of the file that includes it.
func (r *fileReader) open(path, from string, depth int) {
	f, err := os.Open(path)
	if err != nil {
		r.problems.add(from, "cannot open the configuration file: %v", err)
		return
	}
	defer f.Close()
	r.read(f, path, depth)
}

func (r *fileReader) read(in io.Reader, name string, depth int) {
	lines := bufio.NewScanner(io.LimitReader(in, fileBytesMax))
	lines.Buffer(nil, lineBytesMax)
	for n := 1; lines.Scan(); n++ {
		line := strings.Trim(lines.Text(), " \t\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		r.line(line, fmt.Sprintf("%s:%d", name, n), depth)
	}
	if err := lines.Err(); err != nil {
		r.problems.add(name, "cannot read: %v", err)
	}
}

func (r *fileReader) line(line, where string, depth int) {
	words, err := splitLine(line)
	if err != nil {
		r.problems.add(where, "%v in %s", err, shownLine(line))
		return
	}
	if len(words) == 0 {
		return
	}
	name := strings.ToLower(words[0])
	if name == "include" {
		r.include(words[1:], where, depth)
		return
	}
	d, ok := Lookup(name)
	if !ok {
		r.problems.add(where, "%s", unknown("directive", name))
		return
	}
	r.found = append(r.found, assignment{d, words[1:], Origin{FromFile, where}})
}

// shownLine is a line as messages show it. If it sets a secret, only the name is shown.
func shownLine(line string) string {
	name, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	if d, ok := Lookup(strings.ToLower(name)); ok && d.Has(Secret) {
		return d.Name + " (hidden)"
	}
	return strconv.Quote(line)
}

// include reads the files that match. A pattern may match none; a plain path
// must exist.
func (r *fileReader) include(args []string, where string, depth int) {
	if len(args) != 1 {
		r.problems.add(where, "include: %v", errArgCount)
		return
	}
	if depth >= includeDepthMax {
		r.problems.add(where, "include: nested deeper than %d files; does a file include itself?", includeDepthMax)
		return
	}
	paths := args
	if strings.ContainsAny(args[0], "*?[") {
		matches, err := filepath.Glob(args[0])
		if err != nil {
			r.problems.add(where, "include: %v: %q", err, args[0])
			return
		}
		paths = matches
	}
	for _, path := range paths {
		if r.includes++; r.includes > includesMax {
			r.problems.add(where, "include: more than %d files", includesMax)
			return
		}
		r.open(path, where, depth+1)
	}
}
