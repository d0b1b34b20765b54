package proc

import (
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/respconn"
)

const (
	// askPatience bounds a question whose answer is wanted: only a server that
	// hangs takes so long.
	askPatience = 90 * time.Second
	// lookPatience bounds a look at a server: one that is paused does not hold up
	// the one who looks at all.
	lookPatience = 5 * time.Second
)

// Ask sends one command over a connection of its own and returns the text of
// the reply; an error reply or a broken connection is an error.
func Ask(addr string, args ...string) (string, error) { return ask(addr, askPatience, args...) }

// MustAsk is Ask, and the end of the test where that fails.
func MustAsk(t testing.TB, addr string, args ...string) string {
	t.Helper()
	text, err := Ask(addr, args...)
	if err != nil {
		t.Fatalf("%.200q: %v", args, err)
	}
	return text
}

func ask(addr string, patience time.Duration, args ...string) (string, error) {
	c, err := respconn.DialTimeout(addr, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.Patience = patience
	v, err := c.Do(args...)
	if err != nil {
		return "", err
	}
	return v.Text()
}

// Ping reports whether the server answers PING with PONG, and soon.
func Ping(addr string) bool {
	text, err := ask(addr, lookPatience, "PING")
	return err == nil && text == "PONG"
}

// Info is the fields of a section of INFO, empty if the server does not
// answer soon.
func Info(addr, section string) map[string]string {
	fields := map[string]string{}
	text, err := ask(addr, lookPatience, "INFO", section)
	if err != nil {
		return fields
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields
}
