package acl

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"lockstep/engine/acl"
	"lockstep/ground/durable"
)

// FileBytesMax bounds an ACL file.
const FileBytesMax = 8 << 20

// ReadFile reads the users of an ACL file: lines of "user NAME RULE...".
func ReadFile(path string, opt Options) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A device or a pipe does not report its size.
	data, err := io.ReadAll(io.LimitReader(f, FileBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(data) > FileBytesMax {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, FileBytesMax)
	}
	records, err := Parse(strings.Split(string(data), "\n"), opt)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return records, nil
}

// Parse reads lines of "user NAME RULE...". It skips empty lines and those that
// start with "#". An error starts with the number of the line, from 1.
func Parse(lines []string, opt Options) ([]Record, error) {
	var (
		records []Record
		seen    = map[string]bool{}
		nobody  = &Users{}
	)
	for i, line := range lines {
		words := acl.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch {
		case words[0] != "user" || len(words) < 2:
			return nil, fmt.Errorf("%d: line should start with user keyword followed by the username", i+1)
		case seen[words[1]]:
			return nil, fmt.Errorf("%d: user '%s' stands there twice", i+1, words[1])
		}
		seen[words[1]] = true
		r, err := nobody.WithRules(words[1], words[2:], opt)
		if err != nil {
			return nil, fmt.Errorf("%d: %s", i+1, reasonOf(err))
		}
		records = append(records, r)
	}
	return records, nil
}

// reasonOf is the text of an error without the part about ACL SETUSER and without
// the rule, which may be a password.
func reasonOf(err error) string {
	var rule *RuleError
	if errors.As(err, &rule) {
		return rule.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "ERR ")
}

// Line is a user in the form of ACL LIST and of ACL files.
func (r Record) Line() string { return "user " + r.Name + " " + r.Rules }

// WriteFile writes the users to a file. It replaces the whole file, or leaves it
// unchanged.
func (u *Users) WriteFile(path string) error {
	var b strings.Builder
	for _, a := range u.list {
		b.WriteString(a.Line() + "\n")
	}
	return durable.Replace(path, []byte(b.String()), 0o600)
}
