package prototest

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"lockstep/tests/kit/respconn"
)

func Split(addr string) (host, port string) {
	host, port, _ = net.SplitHostPort(addr)
	return host, port
}

// Conversation sends bytes over a new connection and returns the server's replies. It appends RESET
// and QUIT, so that the server closes the connection.
func Conversation(t *testing.T, addr string, raw string) string {
	t.Helper()
	c := Dial(t, addr)
	defer c.Close()
	sent := make(chan error, 1)
	go func() { sent <- c.Write([]byte(raw + "RESET\r\nQUIT\r\n")) }()
	var b strings.Builder
	for {
		v, err := c.Read()
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			b.WriteString("(silence)\n")
			break
		}
		if err != nil {
			b.WriteString("(closed)\n")
			break
		}
		b.WriteString(v.String() + "\n")
	}
	<-sent
	return b.String()
}

// Commands renders a script: a command per line, in redis-cli's quoting.
func Commands(t *testing.T, script string) string {
	t.Helper()
	var raw []byte
	for line := range strings.SplitSeq(script, "\n") {
		args, err := respconn.Split(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if len(args) > 0 {
			raw = respconn.AppendCommand(raw, args...)
		}
	}
	return string(raw)
}

// masks replace what may differ: ids, addresses, times.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"id"\n( *):\d+`), "\"id\"\n$1:<id>"},
}

func Mask(s string) string {
	for _, m := range masks {
		s = m.pattern.ReplaceAllString(s, m.with)
	}
	return s
}

// Compare fails the test if two servers answer differently.
func Compare(t *testing.T, ours, redis, name, raw string) {
	t.Helper()
	want := Mask(Conversation(t, redis, raw))
	got := Mask(Conversation(t, ours, raw))
	if got != want {
		t.Errorf("%s: %.300q\n%s", name, raw, Difference(want, got))
	}
}

// Difference shows the lines that are in only one of the texts.
func Difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	// common[i][j] is the length of the longest common subsequence of lines of a[i:] and b[j:].
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			fmt.Fprintf(&out, "redis-server, line %d: %.200s\n", i+1, a[i])
			i++
		default:
			fmt.Fprintf(&out, "here, line %d:         %.200s\n", j+1, b[j])
			j++
		}
	}
	return out.String()
}

// InBoth runs a script unchanged, and again in RESP3.
func InBoth(t *testing.T, ours, redis, name, script string) {
	t.Helper()
	Compare(t, ours, redis, name, Commands(t, script))
	Compare(t, ours, redis, name+", RESP3", Commands(t, "HELLO 3\n"+script))
}
