package powercut

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// modifying are the system calls that can change a file or make it durable, and mmap, to make sure
// that no code writes through a mapping. "?" marks calls that not every architecture has.
const modifying = "?open,openat,?openat2,?creat,write,?writev,pwrite64,?pwritev,?pwritev2,fsync,fdatasync,?sync,?syncfs,?sync_file_range," +
	"?truncate,ftruncate,fallocate,?rename,?renameat,?renameat2,?unlink,unlinkat,?rmdir,?mkdir,mkdirat,?link,?linkat,?symlink,?symlinkat," +
	"mmap,?copy_file_range,?sendfile,?splice"

// stringMax is the maximum length of a buffer that strace shows completely.
const stringMax = 1 << 28

// straceArgs are the arguments that trace a program into a file.
func straceArgs(to string) []string {
	return []string{"-f", "-y", "-qq", "-e", "signal=none", "-s", strconv.Itoa(stringMax), "--seccomp-bpf", "-e", "trace=" + modifying, "-o", to}
}

// failing are further arguments that make all syncs of a thread fail from the n-th on.
func failing(n int) []string {
	return []string{"-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d+", n)}
}

// call is one system call. over is false if the process died before the call returned.
type call struct {
	name string
	args []arg
	ret  int64
	// began and ended are positions in the trace: a call that ended before another began had taken
	// place by then.
	began, ended int
	over         bool
}

// arg is an argument: a quoted text, or a word with the path that strace shows for a descriptor.
type arg struct {
	word string
	path string
	text []byte
}

// number is the argument as a number.
func (a arg) number() int64 {
	n, err := strconv.ParseInt(a.word, 0, 64)
	if err != nil {
		panic(fmt.Sprintf("strace: %q is no number", a.word))
	}
	return n
}

// at is the absolute path that a directory's descriptor and a name refer to.
func at(dir, name arg) string {
	if filepath.IsAbs(string(name.text)) {
		return filepath.Clean(string(name.text))
	}
	return filepath.Join(dir.path, string(name.text))
}

// read passes every call of a trace to each, in the order in which they returned. Calls that never
// returned come last.
func (t *tracing) read(path string, each func(call) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if line != "" {
			c, ok, bad := t.line(strings.TrimSuffix(line, "\n"))
			if bad != nil {
				return fmt.Errorf("%w in the line %.100q ... %q", bad, line, line[max(0, len(line)-100):])
			}
			if ok {
				if err := each(c); err != nil {
					return err
				}
			}
		}
		if err != nil {
			break
		}
	}
	for _, c := range t.open {
		if err := each(c); err != nil {
			return err
		}
	}
	return nil
}

// tracing is the state of reading a trace.
type tracing struct {
	// n counts lines.
	n int
	// open holds, by thread, the calls that have begun and not returned.
	open map[string]call
}

const (
	unfinished = " <unfinished ...>"
	detached   = " <detached ...>"
	resumed    = " resumed>"
)

// line processes one line. ok means that the line ends a call.
func (t *tracing) line(line string) (c call, ok bool, err error) {
	t.n++
	thread, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimLeft(rest, " ")
	if strings.HasPrefix(rest, "+++") || strings.HasPrefix(rest, "---") || rest == "" {
		return call{}, false, nil
	}
	if after, isResumed := strings.CutPrefix(rest, "<... "); isResumed {
		c, known := t.open[thread]
		name, tail, found := strings.Cut(after, resumed)
		if !known || !found || name != c.name {
			return call{}, false, fmt.Errorf("%q goes on and never began", name)
		}
		delete(t.open, thread)
		return t.finish(thread, c, tail)
	}
	name, rest, found := strings.Cut(rest, "(")
	if !found {
		return call{}, false, errors.New("no call")
	}
	c = call{name: name, began: t.n}
	body, is := strings.CutSuffix(rest, unfinished)
	if !is {
		// The thread was killed within the call.
		if body, is = strings.CutSuffix(rest, detached); !is {
			body, is = strings.CutSuffix(rest, unfinished+") = ?")
		}
	}
	if is {
		if c.args, _, err = arguments(body); err == nil {
			t.open[thread] = c
		}
		return call{}, false, err
	}
	return t.finish(thread, c, rest)
}

// finish reads the rest of a call's arguments, and its result.
func (t *tracing) finish(thread string, c call, rest string) (call, bool, error) {
	if rest = strings.TrimLeft(rest, " "); strings.HasPrefix(rest, "<") {
		t.open[thread] = c // killed
		return call{}, false, nil
	}
	more, rest, err := arguments(rest)
	if err != nil {
		return call{}, false, err
	}
	c.args = append(c.args, more...)
	c.ended = t.n
	_, value, found := strings.Cut(rest, "= ")
	if !found {
		return call{}, false, errors.New("no result")
	}
	value, _, _ = strings.Cut(value, " ")
	value, _, _ = strings.Cut(value, "<")
	if value == "?" { // the process ended within the call
		return c, true, nil
	}
	if c.ret, err = strconv.ParseInt(value, 0, 64); err != nil {
		return call{}, false, err
	}
	c.over = true
	return c, true, nil
}

// arguments reads a list of arguments up to its closing bracket, or up to where the line is
// interrupted, and returns the rest of the line.
func arguments(s string) (args []arg, rest string, err error) {
	for {
		s = strings.TrimLeft(s, ", ")
		if s == "" {
			return args, "", nil
		}
		if s[0] == ')' {
			return args, s[1:], nil
		}
		var a arg
		if s[0] == '"' {
			if a.text, s, err = quoted(s[1:]); err != nil {
				return nil, "", err
			}
			if strings.HasPrefix(s, "...") {
				return nil, "", errors.New("a text that is not whole")
			}
		} else {
			a, s = bare(s)
		}
		args = append(args, a)
	}
}

// bare reads an argument without quotes: a number, flags, a structure, or a descriptor with its
// path in angle brackets.
func bare(s string) (a arg, rest string) {
	depth, i := 0, 0
scan:
	for ; i < len(s); i++ {
		switch s[i] {
		case '<':
			if end := strings.IndexByte(s[i:], '>'); end > 0 {
				a.word, a.path = s[:i], s[i+1:i+end]
				i += end
				if strings.HasPrefix(s[i+1:], "(deleted)") { // older versions of strace print this inside the brackets
					a.path += " (deleted)"
				}
			}
		case '[', '{', '(':
			depth++
		case ']', '}':
			depth--
		case ')':
			if depth == 0 {
				break scan
			}
			depth--
		case ',':
			if depth == 0 {
				break scan
			}
		}
	}
	if a.path == "" {
		a.word = s[:i]
	}
	return a, s[i:]
}

// quoted reads a C string after its opening quote.
func quoted(s string) (text []byte, rest string, err error) {
	for i := 0; i < len(s); i++ {
		// Whole runs are copied at once, because an entry may have megabytes.
		run := strings.IndexAny(s[i:], `"\`)
		if run < 0 {
			break
		}
		text = append(text, s[i:i+run]...)
		i += run
		if s[i] == '"' {
			return text, s[i+1:], nil
		}
		b, n := escaped(s[i+1:])
		if n == 0 {
			break
		}
		text = append(text, b)
		i += n
	}
	return nil, "", errors.New("a text without end")
}

// escaped reads the character after a backslash, and returns its length.
func escaped(s string) (b byte, n int) {
	for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
		b = b<<3 | (s[n] - '0')
		n++
	}
	if n > 0 || s == "" {
		return b, n
	}
	if i := strings.IndexByte(`tnvfr"\`, s[0]); i >= 0 {
		return "\t\n\v\f\r\"\\"[i], 1
	}
	return 0, 0
}
