package corpus

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// Target is a server that scripts run against.
type Target struct {
	// Dial opens a connection, over TCP to a process or to an engine in this process.
	Dial func() (net.Conn, error)
	// Ours is true for Lockstep. If a block has a second expectation for Lockstep, that one then
	// counts.
	Ours bool
}

// TCP returns the target at an address.
func TCP(addr string, ours bool) Target {
	return Target{
		Dial: func() (net.Conn, error) { return net.DialTimeout("tcp", addr, 10*time.Second) },
		Ours: ours,
	}
}

// untilPatience is how long a `% until` block may take.
const untilPatience = time.Minute

// readPatience is how long a `% reads` block waits for each message.
const readPatience = time.Minute

// Run runs the script, with a subtest for each case.
func (s *Script) Run(t *testing.T, target Target) {
	for _, c := range s.cases {
		t.Run(c.name, func(t *testing.T) {
			r := newRunner(t, s, target)
			for _, b := range c.blocks {
				r.check(b)
			}
		})
	}
}

// Rewrite runs the script and writes the target's replies into it.
func (s *Script) Rewrite(t *testing.T, target Target) {
	got := map[*block]string{}
	for _, c := range s.cases {
		r := newRunner(t, s, target)
		for _, b := range c.blocks {
			if b.directives.until {
				r.check(b)
				continue
			}
			got[b] = r.run(b)
		}
		r.close()
	}
	if err := s.rewrite(got); err != nil {
		t.Fatal(err)
	}
}

// runner holds the connections and saved values of one case.
type runner struct {
	t      *testing.T
	script *Script
	target Target
	conns  map[string]*respconn.Conn
	saved  map[string]string
}

func newRunner(t *testing.T, s *Script, target Target) *runner {
	t.Helper()
	r := &runner{t: t, script: s, target: target, conns: map[string]*respconn.Conn{}, saved: map[string]string{}}
	t.Cleanup(r.close)
	if _, err := r.conn("setup", false).Do("FLUSHALL"); err != nil {
		t.Fatalf("FLUSHALL before the case: %v", err)
	}
	return r
}

func (r *runner) close() {
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = map[string]*respconn.Conn{}
}

// conn returns the connection with a name. It opens the connection at the first use.
func (r *runner) conn(name string, resp3 bool) *respconn.Conn {
	r.t.Helper()
	if resp3 {
		name += "@3"
	}
	if c := r.conns[name]; c != nil {
		return c
	}
	nc, err := r.target.Dial()
	if err != nil {
		r.t.Fatal(err)
	}
	c := respconn.New(nc)
	r.conns[name] = c
	if resp3 {
		if v, err := c.Do("HELLO", "3"); err != nil || v.IsError() {
			r.t.Fatalf("HELLO 3: %v, %v", v, err)
		}
	}
	return c
}

// check runs the block and compares the replies.
func (r *runner) check(b *block) {
	r.t.Helper()
	want := b.want
	if r.target.Ours && b.differs {
		want = b.wantOurs
	}
	got := ""
	same := func() bool { got = r.run(b); return got == want }
	if b.directives.until {
		proc.Poll(untilPatience, same)
	} else {
		same()
	}
	if got != want {
		r.t.Errorf("%s:%d\n%s\n---- differs in (got -, want +)\n%s", r.script.Path, b.line, strings.Join(b.commands, "\n"), respconn.Difference(got, want))
	}
}

// run runs the block and returns its replies as text.
func (r *runner) run(b *block) string {
	r.t.Helper()
	if b.directives.reads {
		return b.masked(r.read(b))
	}
	var commands []command
	for _, line := range b.commands {
		c, err := parseCommand(line, b.directives.raw, r.saved)
		if err != nil {
			r.t.Fatalf("%s:%d: %v", r.script.Path, b.line, err)
		}
		commands = append(commands, c)
	}
	var out []string
	switch {
	case b.directives.raw:
		out = r.sendRaw(b, commands)
	case b.directives.sends:
		r.send(b, commands)
	case b.directives.scan:
		out = []string{r.scanAll(b, commands[0])}
	case b.directives.pipeline:
		out = r.pipeline(b, commands)
	default:
		for _, c := range commands {
			out = append(out, r.do(b, c))
		}
	}
	return b.masked(out)
}

// masked joins the replies, with the masks of the block applied.
func (b *block) masked(replies []string) string {
	text := strings.Join(replies, "\n")
	for _, m := range b.directives.masks {
		text = m.re.ReplaceAllString(text, m.text)
	}
	return text
}

// send sends commands that wait. It sends the next one when the one before is waiting.
func (r *runner) send(b *block, commands []command) {
	r.t.Helper()
	for i, c := range commands {
		if err := r.conn(c.conn, c.resp3).Send(c.args...); err != nil {
			r.t.Fatalf("%s:%d: %v", r.script.Path, b.line, err)
		}
		if b.directives.blocked == 0 {
			continue
		}
		want, info := fmt.Sprintf("blocked_clients:%d\r\n", b.directives.blocked-len(commands)+i+1), ""
		if !proc.Poll(untilPatience, func() bool {
			v, _ := r.conn("setup", false).Do("INFO", "clients")
			info = string(v.Bytes)
			return strings.Contains(info, want)
		}) {
			r.t.Errorf("%s:%d: waited in vain for %q in\n%s", r.script.Path, b.line, want, info)
		}
		if b.directives.held {
			continue
		}
		// A node counts its client before the leader hears of the wait. A write through the same
		// node reaches the leader after that.
		if _, err := r.conn("setup", false).Do("DEL", "fence"); err != nil {
			r.t.Fatal(err)
		}
	}
}

// read reads one reply or message for each line, from the connection that the line names.
func (r *runner) read(b *block) (out []string) {
	r.t.Helper()
	for _, line := range b.commands {
		words := strings.Fields(line)
		c := r.conn(strings.TrimSuffix(words[0], ">"), len(words) > 1 && words[1] == "@3")
		c.Patience = readPatience
		v, err := c.Read()
		if err != nil {
			out = append(out, fmt.Sprintf("(%s)", failure(err)))
		} else {
			out = append(out, v.String())
		}
	}
	return out
}

// do sends one command and returns its reply in the form that the block asks for.
func (r *runner) do(b *block, c command) string {
	r.t.Helper()
	v, err := r.conn(c.conn, c.resp3).Do(c.args...)
	if err != nil {
		return fmt.Sprintf("(%s)", failure(err))
	}
	if name := b.directives.save; name != "" {
		text, err := v.Text()
		if err != nil {
			r.t.Fatalf("%s:%d: %v", r.script.Path, b.line, err)
		}
		r.saved[name] = text
		return "(saved " + name + ")"
	}
	if b.directives.sort {
		return sorted(v)
	}
	return v.String()
}

// failure returns a text for a broken connection that is the same on every machine.
func failure(err error) string {
	if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
		return "no reply"
	}
	return "closed"
}

// sorted returns an array, set or map with its elements in order.
func sorted(v respconn.Value) string {
	step := 1
	if v.Kind == '%' {
		step = 2
	}
	var parts []string
	for i := 0; i+step <= len(v.Elems); i += step {
		text := ""
		for _, e := range v.Elems[i : i+step] {
			text += "\n" + indented(e.String())
		}
		parts = append(parts, text)
	}
	slices.Sort(parts)
	return fmt.Sprintf("%c%d", v.Kind, len(parts)) + strings.Join(parts, "")
}

var lineStart = regexp.MustCompile(`(?m)^`)

func indented(text string) string { return lineStart.ReplaceAllString(text, "  ") }

// scanRoundsMax bounds a SCAN whose cursor never returns to 0.
const scanRoundsMax = 10000

// scanAll repeats a command SCAN 0 ... or SSCAN key 0 ... and returns all elements, each once, in
// order.
func (r *runner) scanAll(b *block, c command) string {
	r.t.Helper()
	seen := map[string]bool{}
	args, at := slices.Clone(c.args), 1
	if !strings.EqualFold(args[0], "SCAN") {
		at = 2
	}
	for range scanRoundsMax {
		v, err := r.conn(c.conn, c.resp3).Do(args...)
		if err != nil || len(v.Elems) != 2 {
			return fmt.Sprintf("%v (%v)", v, err)
		}
		for _, e := range v.Elems[1].Elems {
			seen[e.String()] = true
		}
		if args[at] = string(v.Elems[0].Bytes); args[at] == "0" {
			all := make([]string, 0, len(seen))
			for e := range seen {
				all = append(all, e)
			}
			slices.Sort(all)
			return strings.Join(append([]string{fmt.Sprintf("(scanned %d)", len(all))}, all...), "\n")
		}
	}
	return "(the cursor never came back to 0)"
}

// pipeline sends the commands of the block in one write.
func (r *runner) pipeline(b *block, commands []command) []string {
	r.t.Helper()
	conn := r.conn(commands[0].conn, commands[0].resp3)
	var all [][]string
	for _, c := range commands {
		all = append(all, c.args)
	}
	replies, err := conn.Pipeline(all...)
	var out []string
	for _, v := range replies {
		out = append(out, v.String())
	}
	if err != nil {
		out = append(out, fmt.Sprintf("(%s)", failure(err)))
	}
	return out
}

// sendRaw sends the lines of a raw block, and reads the replies that the block asks for.
func (r *runner) sendRaw(b *block, commands []command) []string {
	r.t.Helper()
	conn := r.conn(commands[0].conn, commands[0].resp3)
	for _, c := range commands {
		if err := conn.Write([]byte(c.raw)); err != nil && !b.directives.closes {
			return []string{"(closed)"}
		}
	}
	var out []string
	if b.directives.closes {
		replies, err := conn.ReadToEnd()
		for _, v := range replies {
			out = append(out, v.String())
		}
		if err != nil {
			return append(out, fmt.Sprintf("(%s)", failure(err)))
		}
		return append(out, "(closed)")
	}
	for range b.directives.replies {
		v, err := conn.Read()
		if err != nil {
			return append(out, fmt.Sprintf("(%s)", failure(err)))
		}
		out = append(out, v.String())
	}
	return out
}
