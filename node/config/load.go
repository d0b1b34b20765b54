package config

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Load makes the configuration of a node from its command line (without the
// program's name), its environment (as os.Environ gives it) and, if the command
// line says "-", standard input. The error lists everything that is wrong, one
// problem a line. On [ErrHelp] and [ErrVersion] the caller prints [Help] or the
// version and starts no node.
func Load(args, env []string, stdin io.Reader) (*Config, []Warning, error) {
	line, err := parseArgs(args)
	if err != nil {
		return nil, nil, err
	}
	var file fileReader
	if line.file != "" {
		file.open(line.file, "", 0)
	}
	if line.stdin {
		file.read(stdin, "stdin", 0)
	}
	fromEnv, warnings, envProblems := readEnv(env)

	l := loader{settings: defaults(), warnings: warnings}
	l.problems.list = append(file.problems.list, envProblems.list...)
	l.problems.more = file.problems.more + envProblems.more
	for _, source := range [][]assignment{file.found, fromEnv, line.found} {
		for _, a := range merge(source) {
			l.assign(a)
		}
	}
	l.derive()
	if err := l.complete(); err != nil {
		return nil, l.warnings, err
	}
	c := newConfig(l.settings)
	c.CheckOnly = line.checkOnly
	if line.file != "" {
		if c.file, err = filepath.Abs(line.file); err != nil {
			return nil, l.warnings, fmt.Errorf("%s: %w", line.file, err)
		}
	}
	return c, l.warnings, nil
}

// Default is a configuration of defaults alone, for tests and tools.
func Default() *Config {
	c, _, err := Load(nil, nil, nil)
	if err != nil {
		panic("config: the defaults do not load: " + err.Error())
	}
	return c
}

// defaults reads the table's own values.
func defaults() *Settings {
	s := &Settings{text: make([]string, len(table)), origin: make([]Origin, len(table))}
	for _, d := range table {
		if d.derive != nil {
			continue
		}
		text, err := d.kind.set(s, []string{d.Default})
		if err != nil {
			panic(fmt.Sprintf("config: default of %s: %v", d.Name, err))
		}
		s.text[d.row] = text
	}
	return s
}

// merge makes one assignment for each directive of a source: the last one, or, for
// directives that repeat, the words of all lines in order.
func merge(source []assignment) []assignment {
	var out []assignment
	place := map[*Directive]int{}
	for _, a := range source {
		i, seen := place[a.directive]
		switch {
		case !seen:
			place[a.directive] = len(out)
			out = append(out, a)
		case a.directive.Has(repeats):
			words := append([]string(nil), out[i].args...)
			if between := a.directive.between; between != "" {
				words = append(words, between)
			}
			out[i] = assignment{a.directive, append(words, a.args...), a.origin}
		default:
			out[i] = a
		}
	}
	return out
}

// loader puts assignments into settings that are not yet published.
type loader struct {
	settings *Settings
	warnings []Warning
	problems problems
}

func (l *loader) assign(a assignment) {
	d, where := a.directive, a.origin.Where
	if d.Has(fileOnly) && d.Policy == Refused {
		l.problems.add(where, "%s is refused: %s", d.Name, d.Why)
		return
	}
	before := *l.settings
	text, err := d.kind.set(l.settings, a.args)
	if err != nil {
		l.problems.add(where, "%s: %v", d.Name, err)
		return
	}
	switch verdict, why := d.applyPolicy(text); verdict {
	case verdictRefuse:
		l.problems.add(where, "%s %s is refused: %s", d.Name, shown(d, text), why)
	case verdictKeep:
		*l.settings = before
		l.warnings = append(l.warnings, Warning{where, fmt.Sprintf("%s %s has no effect, it stays %s: %s", d.Name, shown(d, text), d.Default, why)})
	case verdictIgnore:
		l.warnings = append(l.warnings, Warning{where, fmt.Sprintf("%s is ignored: %s", d.Name, why)})
		fallthrough
	case verdictTake:
		l.settings.text[d.row] = text
		l.settings.origin[d.row] = a.origin
	}
}

// verdict says what to do with a well-formed value.
type verdict uint8

const (
	verdictTake verdict = iota
	verdictIgnore
	verdictKeep
	verdictRefuse
)

// applyPolicy applies a directive's policy to a value. The default is always accepted:
// a pasted redis.conf is full of defaults.
func (d *Directive) applyPolicy(text string) (verdict, string) {
	if d.Policy == Honoured || text == d.canonicalDefault() {
		return verdictTake, ""
	}
	for _, r := range d.refuses {
		if text == r {
			return verdictRefuse, d.Why
		}
	}
	switch d.Policy {
	case Fixed:
		return verdictKeep, d.Why
	case Refused:
		return verdictRefuse, d.Why
	}
	return verdictIgnore, d.Why
}

// canonicalDefault is Default as CONFIG GET would show it.
func (d *Directive) canonicalDefault() string {
	var scratch Settings
	text, err := d.kind.set(&scratch, []string{d.Default})
	if err != nil {
		return d.Default
	}
	return text
}

// shown is a value as messages show it: a secret is hidden.
func shown(d *Directive, text string) string {
	switch {
	case d.Has(Secret) && text != "":
		return hiddenValue
	case text == "" || strings.ContainsAny(text, " \t"):
		return fmt.Sprintf("%q", text)
	}
	return text
}

// derive fills in the defaults that follow from other settings.
func (l *loader) derive() {
	for _, d := range table {
		if d.derive == nil || l.settings.origin[d.row].Source != FromDefault {
			continue
		}
		value := d.derive(l.settings)
		text, err := d.kind.set(l.settings, []string{value})
		if err != nil {
			l.problems.add("", "%s (%s) would be %s: %v; set it", d.Name, d.deriveDoc, value, err)
			continue
		}
		l.settings.text[d.row] = text
	}
}

// complete makes paths absolute, as CONFIG GET dir shows them, and checks for settings that
// contradict each other.
func (l *loader) complete() error {
	s := l.settings
	if dir, err := filepath.Abs(s.Dir); err == nil {
		s.Dir = dir
		s.text[byName["dir"].row] = dir
	}
	if len(l.problems.list) == 0 {
		for _, text := range conflicts(s) {
			l.problems.add("", "%s", text)
		}
	}
	return l.problems.err()
}
