package proc

import (
	"strings"
	"time"

	"lockstep/tests/respconn"
)

// askPatience bounds a question to a server: one that is paused or busy
// electing does not hold up the one who asks.
const askPatience = 5 * time.Second

// Ask sends one command over a connection of its own and returns the text of
// the reply; an error reply or a broken connection is an error.
func Ask(addr string, args ...string) (string, error) {
	c, err := respconn.DialTimeout(addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.Patience = askPatience
	v, err := c.Do(args...)
	if err != nil {
		return "", err
	}
	return v.Text()
}

// Ping reports whether the server answers PING with PONG.
func Ping(addr string) bool {
	text, err := Ask(addr, "PING")
	return err == nil && text == "PONG"
}

// Info is the fields of a section of INFO, empty if the server does not
// answer.
func Info(addr, section string) map[string]string {
	fields := map[string]string{}
	text, err := Ask(addr, "INFO", section)
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
