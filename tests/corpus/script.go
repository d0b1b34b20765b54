package corpus

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"lockstep/tests/kit/respconn"
)

// Script is a parsed file.
type Script struct {
	Path  string
	lines []string
	cases []*scriptCase
}

// scriptCase holds the blocks below one `==` line.
type scriptCase struct {
	name   string
	blocks []*block
}

// block is a group of commands with their replies.
type block struct {
	line       int // the line of the first command, from 1
	directives directives
	commands   []string
	want       string
	wantOurs   string // "" if there is no `---- lockstep` part
	reason     string
	differs    bool
	// want is lines [wantFrom, wantTo) of the script.
	wantFrom, wantTo int
}

// directives are the `%` lines of a block.
type directives struct {
	pipeline, raw, closes, until, scan, sort bool
	sends, reads                             bool
	// held is true if a pause holds the commands before they reach the shard.
	held bool
	// blocked is the number of waiting clients when a sends block is done. If it is 0, the block
	// does not wait for that.
	replies, blocked int
	save             string
	masks            []mask
}

type mask struct {
	re   *regexp.Regexp
	text string
}

const (
	separator     = "----"
	separatorOurs = "---- lockstep:"
)

// Load reads and parses a script.
func Load(path string) (*Script, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Script{Path: path}
	scanner := bufio.NewScanner(bytes.NewReader(text))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		s.lines = append(s.lines, scanner.Text())
	}
	if err := s.parse(); err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return s, nil
}

func (s *Script) parse() error {
	var pending directives
	for i := 0; i < len(s.lines); i++ {
		line := s.lines[i]
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "== "):
			s.cases = append(s.cases, &scriptCase{name: strings.TrimSpace(line[3:])})
		case strings.HasPrefix(line, "%"):
			if err := pending.add(line[1:]); err != nil {
				return fmt.Errorf("%d: %w", i+1, err)
			}
		case len(s.cases) == 0:
			return fmt.Errorf("%d: a command before the first case (== name)", i+1)
		default:
			b, next, err := s.parseBlock(i)
			if err != nil {
				return err
			}
			b.directives, pending = pending, directives{}
			last := s.cases[len(s.cases)-1]
			last.blocks = append(last.blocks, b)
			i = next - 1
		}
	}
	return nil
}

// parseBlock parses the block that begins in line i. It returns the block and the line after it.
func (s *Script) parseBlock(i int) (*block, int, error) {
	b := &block{line: i + 1}
	for ; i < len(s.lines) && !strings.HasPrefix(s.lines[i], separator); i++ {
		if strings.TrimSpace(s.lines[i]) == "" {
			return nil, i, fmt.Errorf("%d: a block without %s", b.line, separator)
		}
		if !strings.HasPrefix(s.lines[i], "#") {
			b.commands = append(b.commands, s.lines[i])
		}
	}
	if i == len(s.lines) {
		return nil, i, fmt.Errorf("%d: a block without %s", b.line, separator)
	}
	i++
	b.wantFrom = i
	b.want, i = s.reply(i)
	b.wantTo = i
	if i < len(s.lines) && strings.HasPrefix(s.lines[i], separatorOurs) {
		b.differs, b.reason = true, strings.TrimSpace(s.lines[i][len(separatorOurs):])
		if b.reason == "" {
			return nil, i, fmt.Errorf("%d: it differs without a reason", i+1)
		}
		b.wantOurs, i = s.reply(i + 1)
	}
	return b, i, nil
}

// reply returns the expected replies that begin in line i, and the line after them.
func (s *Script) reply(i int) (string, int) {
	from := i
	for i < len(s.lines) && s.lines[i] != "" && !strings.HasPrefix(s.lines[i], separator) {
		i++
	}
	return strings.Join(s.lines[from:i], "\n"), i
}

func (d *directives) add(text string) error {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "pipeline":
		d.pipeline = true
	case "raw":
		d.raw = true
	case "closes":
		d.closes = true
	case "until":
		d.until = true
	case "scan":
		d.scan = true
	case "sends":
		d.sends = true
		if rest != "" {
			n, err := strconv.Atoi(rest)
			d.blocked = n
			return err
		}
	case "holds":
		d.sends, d.held = true, true
		n, err := strconv.Atoi(rest)
		d.blocked = n
		return err
	case "reads":
		d.reads = true
	case "sort":
		d.sort = true
	case "save":
		d.save = rest
	case "replies":
		n, err := strconv.Atoi(rest)
		d.replies = n
		return err
	case "mask":
		expr, text, _ := strings.Cut(rest, " ")
		re, err := regexp.Compile(expr)
		d.masks = append(d.masks, mask{re, strings.TrimSpace(text)})
		return err
	default:
		return fmt.Errorf("no directive %q", name)
	}
	return nil
}

// command is one line of a block.
type command struct {
	conn  string
	resp3 bool
	args  []string
	// raw holds the bytes of a line in a raw block.
	raw string
}

func parseCommand(line string, raw bool, saved map[string]string) (command, error) {
	c := command{conn: "c1"}
	rest := line
	if name, after, ok := strings.Cut(line, "> "); ok && !strings.ContainsAny(name, " \"'") {
		c.conn, rest = name, after
	}
	if after, ok := strings.CutPrefix(rest, "@3 "); ok {
		c.resp3, rest = true, after
	}
	for name, value := range saved {
		rest = strings.ReplaceAll(rest, "${"+name+"}", respconn.Quote([]byte(value)))
	}
	args, err := respconn.Split(rest)
	if err != nil {
		return c, fmt.Errorf("%s: %w", line, err)
	}
	if raw {
		c.raw = strings.Join(args, "")
	}
	c.args = args
	return c, nil
}

// rewrite writes the script back with the given replies, one for each block in the order of the
// script.
func (s *Script) rewrite(got map[*block]string) error {
	var out []string
	at := 0
	for _, c := range s.cases {
		for _, b := range c.blocks {
			text, ok := got[b]
			if !ok {
				continue
			}
			out = append(out, s.lines[at:b.wantFrom]...)
			if text != "" {
				out = append(out, text)
			}
			at = b.wantTo
		}
	}
	out = append(out, s.lines[at:]...)
	return os.WriteFile(s.Path, []byte(strings.Join(out, "\n")+"\n"), 0o644)
}
