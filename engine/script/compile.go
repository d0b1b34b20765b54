package script

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

func init() {
	// Elements with a greater index are in the hash part of a table: a single assignment fills the
	// array part up to its index.
	lua.MaxArrayIndex = arrayIndexMax
	// The rewriter makes the table "arg" if a function uses it.
	lua.CompatVarArg = false
}

// Script is a script. It may run several times at once.
type Script struct {
	// SHA is the lower-case SHA1 of Source, which EVALSHA uses, and Sum the same in bytes.
	SHA    string
	Sum    Sum
	Source string
	// Header holds the flags of the first line.
	Header Header

	once sync.Once
	body string
	form form
	err  error
}

// form is a compiled text: its code, and the names in it.
type form struct {
	proto *lua.FunctionProto
	names *names
	// work is the work that compiling took in addition to the estimate by the text's length.
	work int64
}

// Sum is the SHA1 of a script's text.
type Sum [sha1.Size]byte

// String is the sum as EVALSHA takes it.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// sumOf reads a sum, in letters of any case.
func sumOf(text string) (s Sum, ok bool) {
	if len(text) != 2*len(s) {
		return s, false
	}
	_, err := hex.Decode(s[:], []byte(text))
	return s, err == nil
}

// SHA1 is the name of a script in a cache.
func SHA1(source []byte) string { return Sum(sha1.Sum(source)).String() }

// Read reads a script's first line and copies the script, which is cheap. Compile does the rest. An
// error is the whole text of the reply.
func Read(source []byte, limits *Limits) (*Script, error) {
	if len(source) > limits.SourceBytes {
		return nil, fmt.Errorf("ERR Error compiling script (new function): user_script: script is longer than %d bytes", limits.SourceBytes)
	}
	header, first, err := parseHeader(source)
	if err != nil {
		return nil, err
	}
	text, sum := string(source), Sum(sha1.Sum(source))
	return &Script{SHA: sum.String(), Sum: sum, Source: text, Header: header, body: text[first:]}, nil
}

// Compile compiles the script unless that was done before. An error is the whole text of the reply.
func (s *Script) Compile() error {
	s.once.Do(func() {
		if s.form, s.err = compile(s.body, scriptChunk); s.err != nil {
			s.err = fmt.Errorf("ERR Error compiling script (new function): %w", s.err)
		}
		s.body = ""
	})
	return s.err
}

// Compile reads and compiles a script.
func Compile(source []byte, limits *Limits) (*Script, error) {
	s, err := Read(source, limits)
	if err == nil {
		err = s.Compile()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// The names of a script's text, and of a library's, in error texts.
const (
	scriptChunk  = "user_script"
	libraryChunk = "user_function"
)

// compile parses, rewrites and compiles a chunk.
func compile(source, chunk string) (f form, err error) {
	defer func() {
		// The compiler panics in several ways on code that it cannot compile.
		switch e := recover().(type) {
		case nil:
		case *syntaxError:
			err = fmt.Errorf("%s:%d: %s", chunk, e.line, e.text)
		default:
			err = errors.New(chunk + ":1: function or expression too complex")
		}
	}()
	if strings.HasPrefix(source, "\x1b") {
		return f, errors.New(chunk + ": bad code")
	}
	if err := nesting(source, chunk); err != nil {
		return f, err
	}
	tree, err := parse.Parse(strings.NewReader(source), chunk)
	if err != nil {
		return f, parseText(err, chunk, source)
	}
	r := &rewriter{marker: marker(source), names: newNames()}
	r.push(newFunctionScope())
	tree = r.block(tree)
	proto, err := lua.Compile(tree, chunk)
	if err != nil {
		return f, compileText(err, chunk)
	}
	link(proto, r.marker)
	return form{proto, r.names, int64(r.work / namesCompared)}, nil
}

// CompileWork is the work of compiling the script, estimated from its text.
func (s *Script) CompileWork() int64 { return compileWork(s.Source) }

// compileWork is the work of compiling a text, estimated from its length. Spaces are read quickly.
func compileWork(text string) int64 {
	dense := 0
	for i := range len(text) {
		if text[i] > ' ' {
			dense++
		}
	}
	return int64(priceCompile + dense*priceSourceByte + (len(text)-dense)*priceSpace)
}

// marker returns a text that no constant of the script begins with. Constants that begin with it
// are intrinsics.
func marker(source string) string {
	const word = "intrinsic"
	// An escape could spell the marker, so the search is for the part without the zero. It runs
	// only once, because a script may be full of that part.
	taken := map[string]bool{"0": strings.Contains(source, `\`)}
	for rest := source; ; {
		at := strings.Index(rest, word)
		if at < 0 {
			break
		}
		rest = rest[at+len(word):]
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if digits < len(rest) && rest[digits] == ':' {
			taken[rest[:digits]] = true
		}
	}
	for n := 0; ; n++ {
		if number := strconv.Itoa(n); !taken[number] {
			return "\x00" + word + number + ":" + strconv.Itoa(len(source)) + ":" + SHA1([]byte(source)) + ":"
		}
	}
}

// link replaces the names of intrinsics by the intrinsics.
func link(p *lua.FunctionProto, marker string) {
	for i, c := range p.Constants {
		if s, ok := c.(lua.LString); ok && strings.HasPrefix(string(s), marker) {
			p.Constants[i] = intrinsics[string(s[len(marker):])]
		}
	}
	for _, inner := range p.FunctionPrototypes {
		link(inner, marker)
	}
}

var _ ast.Expr = (*ast.StringExpr)(nil)

// parseText turns the parser's error into Lua's form.
func parseText(err error, chunk, source string) error {
	var pe *parse.Error
	if !errors.As(err, &pe) {
		return fmt.Errorf("%s:1: %s", chunk, strings.TrimSpace(err.Error()))
	}
	line, near := pe.Pos.Line, pe.Token
	if line < 0 || near == "" {
		near = "<eof>"
	}
	if line < 0 {
		line = 1 + strings.Count(source, "\n")
	}
	switch {
	case strings.Contains(pe.Message, "unterminated string"):
		return fmt.Errorf("%s:%d: unfinished string near '<eof>'", chunk, max(line, 1))
	case strings.Contains(pe.Message, "syntax error"):
		return fmt.Errorf("%s:%d: unexpected symbol near '%s'", chunk, max(line, 1), near)
	}
	return fmt.Errorf("%s:%d: %s near '%s'", chunk, max(line, 1), strings.TrimSpace(pe.Message), near)
}

func compileText(err error, chunk string) error {
	var ce *lua.CompileError
	if errors.As(err, &ce) {
		return fmt.Errorf("%s:%d: %s", chunk, max(ce.Line, 1), ce.Message)
	}
	return fmt.Errorf("%s:1: %s", chunk, strings.TrimSpace(err.Error()))
}

// nesting refuses sources with more open brackets than the parser should see. It also counts
// brackets in strings and comments. So it may refuse a script with thousands of brackets in a text,
// but the bound is generous.
func nesting(source, chunk string) error {
	const most = 20_000
	open, line := 0, 1
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '\n':
			line++
		case '(', '{', '[':
			open++
		case ')', '}', ']':
			open--
		}
		if open > most {
			return fmt.Errorf("%s:%d: chunk has too many syntax levels", chunk, line)
		}
	}
	return nil
}
