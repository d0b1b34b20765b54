package client

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"lockstep/cluster"
	"lockstep/engine/commands"
)

// measures is an Executor that records how many bytes of replies were buffered when it was called.
type measures struct {
	echoes
	c    *Client
	most *int
}

func (g *measures) Do(ctx context.Context, calls []*cluster.Call) {
	*g.most = max(*g.most, g.c.out.Len())
	g.echoes.Do(ctx, calls)
}

// Long replies of commands on the connection are not held back by a data command before them: a
// pipeline of some kilobytes would take gigabytes.
func TestLongRepliesDoNotWaitForTheEndOfAPipeline(t *testing.T) {
	most := 0
	g := &measures{most: &most}
	conn := &recorder{}
	g.c = aloneOn(t, conn, g, &Settings{SlowerThanUs: -1})
	long := bytes.Repeat([]byte("x"), 1<<20)
	batch := [][][]byte{{[]byte("GET"), []byte("k")}}
	for range 20 {
		batch = append(batch, [][]byte{[]byte("ECHO"), long})
	}
	batch = append(batch, [][]byte{[]byte("GET"), []byte("k")})
	if !g.c.Handle(batch) {
		t.Fatal("the client was closed")
	}
	if want := repliesBytes + 2*len(long); most > want {
		t.Errorf("%d bytes were kept, want %d at most", most, want)
	}
	echoed := "$1048576\r\n" + string(long) + "\r\n"
	if got, want := conn.String(), "+OK\r\n"+strings.Repeat(echoed, 20)+"+OK\r\n"; got != want {
		t.Errorf("%d bytes were answered, or others; want %d", len(got), len(want))
	}
}

// recorder is a connection that keeps the written bytes.
type recorder struct {
	sink
	bytes.Buffer
}

func (r *recorder) TryWrite(p []byte) (int, error) { return r.Buffer.Write(p) }
func (r *recorder) Write(p []byte) (int, error)    { return r.Buffer.Write(p) }
func (r *recorder) Read(p []byte) (int, error)     { return r.sink.Read(p) }

// A command that names an item very often does not get its description as often.
func TestTheReplyOfACommandOnTheConnectionIsBounded(t *testing.T) {
	conn := &recorder{}
	c := aloneOn(t, conn, echoes{}, &Settings{SlowerThanUs: -1})
	// The handler of package admin also answers with the keys.
	c.backend.Handlers.set("command|getkeys", func(c *Client, args [][]byte) {
		for _, key := range args[3:] {
			c.out.Bulk(key)
		}
	})
	one := func(args ...[]byte) string {
		conn.Reset()
		if !c.Handle([][][]byte{args}) {
			t.Fatal("the client was closed")
		}
		return conn.String()
	}
	long := make([]byte, 1<<20)
	// All arguments are one slice here. COMMAND DOCS would answer kilobytes for each name.
	keys := [][]byte{[]byte("COMMAND"), []byte("GETKEYS"), []byte("DEL")}
	for range mergedBytesMax >> 20 {
		keys = append(keys, long)
	}
	const tooLong = "-" + errLongInPlace + "\r\n"
	if got := one(keys...); got != tooLong {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
	if got := one([]byte("PING")); got != "+PONG\r\n" {
		t.Errorf("behind it: %.200q", got)
	}
}

// Each argument is checked once, however many of them are passwords.
func TestALineOfManyPasswordsIsSoonMade(t *testing.T) {
	args := [][]byte{[]byte("AUTH")}
	for range 4 << 20 {
		args = append(args, []byte("x"))
	}
	spec, _ := commands.Lookup(args)
	line := monitorLine(processBegan, 0, "a", spec, args)
	if n := strings.Count(string(line), ` "(redacted)"`); n != len(args)-1 || strings.Contains(string(line), `"x"`) {
		t.Errorf("%d of %d are hidden", n, len(args)-1)
	}
}
