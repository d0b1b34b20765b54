package server_test

import (
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockstep/tests/respconn"
)

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func split(addr string) (host, port string) {
	host, port, _ = net.SplitHostPort(addr)
	return host, port
}

// conversation is what a server says to bytes on a fresh connection: its
// replies up to where it closes the connection. It is asked to at the end.
func conversation(t *testing.T, addr string, raw string) string {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	c.Patience = 5 * time.Second
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

// commands renders a script: a command per line, in redis-cli's quoting.
func commands(t *testing.T, script string) string {
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

// masks are what must differ: ids, addresses, times.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"id"\n( *):\d+`), "\"id\"\n$1:<id>"},
}

func mask(s string) string {
	for _, m := range masks {
		s = m.pattern.ReplaceAllString(s, m.with)
	}
	return s
}

// compare demands that two servers say the same.
func compare(t *testing.T, ours, redis, name, raw string) {
	t.Helper()
	want := mask(conversation(t, redis, raw))
	got := mask(conversation(t, ours, raw))
	if got != want {
		t.Errorf("%s: %.300q\n--- redis-server\n%.3000s--- here\n%.3000s", name, raw, want, got)
	}
}
