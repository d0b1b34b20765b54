package config

import (
	"errors"
	"strings"
)

// Requests of the command line that start no node.
var (
	// ErrHelp means that --help was given.
	ErrHelp = errors.New("help was asked for")
	// ErrVersion means that --version was given.
	ErrVersion = errors.New("the version was asked for")
)

// commandLine is the parsed command line: [config-file] [-] [--name value...]...
type commandLine struct {
	file  string
	stdin bool
	// checkOnly is --check-config: report what is wrong and do not start.
	checkOnly bool
	found     []assignment
}

// parseArgs parses the arguments as redis-server does. It also takes --name=value, which lets a
// value begin with dashes.
func parseArgs(args []string) (commandLine, error) {
	var line commandLine
	var bad problems
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		line.file, args = args[0], args[1:]
	}
	for len(args) > 0 {
		switch arg := args[0]; {
		case arg == "-h" || arg == "--help":
			return line, ErrHelp
		case arg == "-v" || arg == "--version":
			return line, ErrVersion
		case arg == "--check-config":
			line.checkOnly, args = true, args[1:]
		case arg == "-":
			line.stdin, args = true, args[1:]
		case strings.HasPrefix(arg, "--"):
			args = line.option(arg, args[1:], &bad)
		default:
			bad.add("", "unexpected %q: options are --name value, and the configuration file comes first", arg)
			args = args[1:]
		}
	}
	return line, bad.err()
}

// option reads one --name with its words and returns the arguments after them.
func (l *commandLine) option(flag string, rest []string, bad *problems) []string {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	words := []string{value}
	if !hasValue {
		n := 0
		for n < len(rest) && !strings.HasPrefix(rest[n], "--") && !(rest[n] == "-" && n == len(rest)-1) {
			n++
		}
		words, rest = rest[:n], rest[n:]
	}
	where := "--" + name
	d, ok := Lookup(strings.ToLower(name))
	if !ok {
		bad.add(where, "%s", unknown("directive", name))
		return rest
	}
	if _, isBool := d.kind.(fieldKind[bool]); isBool && len(words) == 0 {
		words = []string{"yes"}
	}
	l.found = append(l.found, assignment{d, words, Origin{FromFlag, where}})
	return rest
}
