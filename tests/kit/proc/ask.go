package proc

import (
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/respconn"
)

const (
	// askPatience bounds a request whose reply the test needs. Only a server that hangs takes so
	// long.
	askPatience = 90 * time.Second
	// lookPatience bounds a request that only observes a server, so that a paused server does not
	// delay the observer.
	lookPatience = 5 * time.Second
)

// Ask sends one command over a connection of its own and returns the text of the reply. An error
// reply or a broken connection is an error.
func Ask(addr string, args ...string) (string, error) { return ask(addr, askPatience, args...) }

// MustAsk is Ask, but ends the test on an error.
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

// Ping reports whether the server answers PING with PONG within lookPatience.
func Ping(addr string) bool {
	text, err := ask(addr, lookPatience, "PING")
	return err == nil && text == "PONG"
}

// Info returns the fields of a section of INFO, or none if the server does not answer within
// lookPatience.
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
