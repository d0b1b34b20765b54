package proc

import (
	"strings"
	"testing"

	"lockstep/tests/kit/respconn"
)

// Dial connects to a node until the test ends.
func Dial(t testing.TB, addr string) *respconn.Conn {
	t.Helper()
	c, err := respconn.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Do runs a command and returns its reply, readable and in one line.
func Do(t testing.TB, c *respconn.Conn, args ...string) string {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%.200q: %v", args, err)
	}
	return oneLine(v)
}

// Read returns the next reply, readable and in one line.
func Read(t testing.TB, c *respconn.Conn) string {
	t.Helper()
	v, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	return oneLine(v)
}

func oneLine(v respconn.Value) string { return strings.Join(strings.Fields(v.String()), " ") }
