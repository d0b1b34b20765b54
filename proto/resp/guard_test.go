package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/redcon"

	"lockstep/ground/words"
)

func testLimits() Limits {
	l := DefaultLimits
	l.BulkBytesMax, l.QueryBytesMax = 1<<20, 4<<20
	return l
}

// cut splits data into chunks of random sizes.
func cut(data []byte, seed uint64) [][]byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	most := 1 + rng.IntN(1<<rng.IntN(16))
	var chunks [][]byte
	for len(data) > 0 {
		n := min(len(data), 1+rng.IntN(most))
		chunks = append(chunks, bytes.Clone(data[:n]))
		data = data[n:]
	}
	return chunks
}

// passed holds the commands that a guard passes on, and the text of its protocol error.
type passed struct {
	commands [][]string
	err      string
}

// pass runs a guard over chunks and checks that redcon accepts the commands that the guard passes
// on.
func pass(t testing.TB, chunks [][]byte, authed bool) passed {
	t.Helper()
	var traffic Traffic
	arrived := 0
	for _, c := range chunks {
		arrived += len(c)
	}
	g := NewGuard(&script{chunks: chunks}, testLimits, &traffic)
	g.SetAuthenticated(authed)
	var p passed
	for {
		data, n, err := g.Next()
		if err != nil {
			var told ProtocolError
			if errors.As(err, &told) {
				p.err = told.Error()
			} else if err != io.EOF {
				t.Fatalf("unexpected error: %v", err)
			}
			if got := int(traffic.In.Load()); got > arrived {
				t.Fatalf("%d bytes counted, %d were sent", got, arrived)
			}
			return p
		}
		// The buffer doubles when three quarters are full.
		if held := cap(g.frames.in); held > 3*arrived+4*readBytesMin {
			t.Fatalf("%d bytes are held, %d were sent", held, arrived)
		}
		if n > batchCommandsMax || len(data) > batchBytesMax+int(testLimits().QueryBytesMax) {
			t.Fatalf("a batch of %d commands, %d bytes", n, len(data))
		}
		p.commands = append(p.commands, parsed(t, data, n)...)
	}
}

// parsed parses n commands with redcon.
func parsed(t testing.TB, data []byte, n int) [][]string {
	t.Helper()
	var all [][]string
	for len(data) > 0 {
		complete, args, kind, rest, err := redcon.ReadNextCommand(data, nil)
		if err != nil || !complete || kind != redcon.Redis {
			t.Fatalf("redcon does not take %.200q: %v", data, err)
		}
		var command []string
		for _, a := range args {
			command = append(command, string(a))
		}
		all = append(all, command)
		data = rest
	}
	if len(all) != n {
		t.Fatalf("redcon reads %d commands, the guard said %d", len(all), n)
	}
	return all
}

// reference is a simple implementation of the protocol. It reads data as a whole, one line at a
// time.
func reference(data []byte, authed bool) (p passed) {
	fail := func(text string) passed {
		p.err = "ERR Protocol error: " + text
		return p
	}
	number := func(most int64) (n int64, ok, whole bool) {
		end := bytes.IndexByte(data, '\r')
		if end < 0 || end+1 >= len(data) {
			return 0, false, false
		}
		text := ""
		if end > 0 {
			text = string(data[1:end])
		}
		data = data[end+2:]
		_, err := fmt.Sscanf(text, "%d", &n)
		return n, err == nil && fmt.Sprint(n) == text && n <= most, true
	}
	for len(data) > 0 {
		if data[0] != '*' {
			line, rest, found := bytes.Cut(data, []byte("\n"))
			if !found {
				return p
			}
			data = rest
			args, ok := words.Split(bytes.TrimSuffix(line, []byte("\r")))
			if !ok {
				return fail("unbalanced quotes in request")
			}
			if len(args) > 0 {
				p.commands = append(p.commands, texts(args))
			}
			continue
		}
		count, ok, whole := number(argsMax)
		switch {
		case !whole:
			return p
		case !ok:
			return fail("invalid multibulk length")
		case !authed && count > 10:
			return fail("unauthenticated multibulk length")
		}
		var command []string
		for range max(count, 0) {
			if len(data) == 0 {
				return p
			}
			first := data[0]
			size, ok, whole := number(testLimits().BulkBytesMax)
			switch {
			case !whole:
				return p
			case first != '$':
				return fail("expected '$', got '" + strings.NewReplacer("\r", " ", "\n", " ").Replace(string([]byte{first})) + "'")
			case !ok || size < 0:
				return fail("invalid bulk length")
			case !authed && size > 16384:
				return fail("unauthenticated bulk length")
			case int64(len(data)) < size+2:
				return p
			}
			command = append(command, string(data[:size]))
			data = data[size+2:]
		}
		if count > 0 {
			p.commands = append(p.commands, command)
		}
	}
	return p
}

func texts(args [][]byte) []string {
	var list []string
	for _, a := range args {
		list = append(list, string(a))
	}
	return list
}

// sameAsReference checks that a guard reads data as the reference does, wherever data is cut.
func sameAsReference(t testing.TB, data []byte, seed uint64) {
	t.Helper()
	for _, authed := range []bool{true, false} {
		want := reference(data, authed)
		got := pass(t, cut(data, seed), authed)
		if got.err != want.err || !slices.EqualFunc(got.commands, want.commands, slices.Equal[[]string]) {
			t.Fatalf("logged in %v: %.300q\ngot  %.300q %q\nwant %.300q %q", authed, data, got.commands, got.err, want.commands, want.err)
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, seed := range []string{
		"PING\r\n", "*1\r\n$4\r\nPING\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$0\r\n\r\n*0\r\n*-1\r\nGET a\r\n",
		"*9223372036854775807\r\n", "*1\r\n$9223372036854775807\r\n", "SET a \"b", "set 'a' \"\\x41\\n\"\n\n\r\n",
		"*2\r\n$3\r\nGET\r\n:1\r\n", "*1\rx$4\rxPINGxx", "*11\r\n$1\r\na\r\n", "*1\r\n$16385\r\n", "\x00\n*\x00\r\n",
	} {
		f.Add([]byte(seed), uint64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if len(data) < 60<<10 {
			sameAsReference(t, data, seed)
		}
	})
}

// The length of a line is not known in advance, so the buffer doubles to make room for the bytes
// that may follow.
func TestALongLineIsReadWhereverItIsCut(t *testing.T) {
	for seed := range uint64(50) {
		sameAsReference(t, []byte("ECHO "+strings.Repeat("x", 52_000)+"\n"), seed)
	}
}

func TestRandomPipelinesAreReadWhereverTheyAreCut(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var data []byte
		for range rng.IntN(60) {
			switch rng.IntN(8) {
			case 0:
				data = append(data, "GET  'a b' \"\\x00\"\r\n"...)
			case 1:
				data = append(data, []string{"*0\r\n", "*-1\r\n", "\r\n", "\n"}[rng.IntN(4)]...)
			default:
				args := make([][]byte, 1+rng.IntN(5))
				for i := range args {
					args[i] = bytes.Repeat([]byte{byte(rng.IntN(256))}, rng.IntN(1<<rng.IntN(12)))
				}
				data = appendCommand(data, args)
			}
		}
		if rng.IntN(3) == 0 && len(data) > 0 {
			data[rng.IntN(len(data))] = byte(rng.IntN(256))
		}
		sameAsReference(t, data, seed)
	}
}

func TestAnAnnouncedLengthCostsNothing(t *testing.T) {
	l := DefaultLimits
	l.BulkBytesMax, l.QueryBytesMax = 1<<40, 1<<41
	for _, text := range []string{"*2147483647\r\n", "*1\r\n$1099511627776\r\n", "*1\r\n$1099511627776\r\nabc"} {
		g := NewGuard(&script{chunks: [][]byte{[]byte(text)}}, func() Limits { return l }, new(Traffic))
		g.SetAuthenticated(true)
		if _, _, err := g.Next(); err != io.EOF {
			t.Fatal(err)
		}
		if held := cap(g.frames.in); held > 4*readBytesMin {
			t.Errorf("%q: %d bytes are held", text, held)
		}
	}
}

func TestALargeBufferIsGivenBackWhenItsCommandIsAnswered(t *testing.T) {
	big := appendCommand(nil, [][]byte{[]byte("ECHO"), make([]byte, 1<<20)})
	chunks := cut(big, 3)
	g := NewGuard(&script{chunks: append(chunks, []byte("PING\r\n"))}, testLimits, new(Traffic))
	g.SetAuthenticated(true)
	for range 2 {
		if _, n, err := g.Next(); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if held := g.Usage().QueryBytes; held > keptBytes {
		t.Errorf("%d bytes are held", held)
	}
}

func TestOneByteAtATimeIsReadInTimeProportionalToItsLength(t *testing.T) {
	chunk := func(size int) [][]byte {
		data := append([]byte("ECHO "), bytes.Repeat([]byte("x"), size)...)
		var chunks [][]byte
		for _, b := range append(data, '\n') {
			chunks = append(chunks, []byte{b})
		}
		return chunks
	}
	g := NewGuard(&script{chunks: chunk(60_000)}, testLimits, new(Traffic))
	g.SetAuthenticated(true)
	data, n, err := g.Next()
	if n != 1 || err != nil || len(data) < 60_000 {
		t.Fatal(len(data), n, err)
	}
	if g.frames.scanned != g.frames.parsed {
		t.Error("the guard has lost its place")
	}
}

func TestTooMuchForTheQueryBufferEndsTheConnection(t *testing.T) {
	endless := append([]byte("*1000000\r\n"), bytes.Repeat([]byte("$1\r\na\r\n"), 1_000_000)...)
	traffic := new(Traffic)
	g := NewGuard(&script{chunks: [][]byte{endless}}, testLimits, traffic)
	g.SetAuthenticated(true)
	if _, _, err := g.Next(); !errors.Is(err, ErrQueryBuffer) || traffic.QueryClosed.Load() != 1 {
		t.Fatal(err)
	}
}

func TestOnlyAClientWithinACommandMustGoOn(t *testing.T) {
	s := &script{chunks: [][]byte{[]byte("PING\r\n*1\r\n"), []byte("$4\r\n"), []byte("PING\r\n")}}
	g := NewGuard(s, testLimits, new(Traffic))
	g.SetAuthenticated(true)
	for range 2 {
		if _, _, err := g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := g.Next(); err != io.EOF {
		t.Fatal(err)
	}
	if len(s.readDeadlines) != 3 || s.readDeadlines[0].Before(time.Now()) || s.readDeadlines[1].Before(time.Now()) || !s.readDeadlines[2].IsZero() {
		t.Errorf("deadlines %v: want two within the command, and none behind it", s.readDeadlines)
	}
}

func BenchmarkGuardPipeline(b *testing.B) {
	one := appendCommand(nil, [][]byte{[]byte("SET"), []byte("key:000000000001"), []byte("xxx")})
	batch := bytes.Repeat(one, 16)
	s := &script{}
	g := NewGuard(s, testLimits, new(Traffic))
	g.SetAuthenticated(true)
	b.ReportAllocs()
	b.SetBytes(int64(len(batch)))
	chunks := [][]byte{nil}
	for b.Loop() {
		chunks[0] = batch
		s.chunks = chunks
		if _, n, err := g.Next(); n != 16 || err != nil {
			b.Fatal(n, err)
		}
	}
}
