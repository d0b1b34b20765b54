package admin_test

import (
	"strings"
	"testing"

	"lockstep/tests/kit/prototest"
)

// TestLolwutAnswersAsRedis compares everything but the picture: which arguments are refused, and
// the type of the reply.
func TestLolwutAnswersAsRedis(t *testing.T) {
	ours, redis := prototest.StartNode(t, 1).Addr, prototest.StartRedis(t)
	for _, line := range []string{
		"LOLWUT", "LOLWUT VERSION", "LOLWUT 5", "LOLWUT a b", "LOLWUT a b c", "LOLWUT VERSION 5", "LOLWUT version 6", "LOLWUT VERSION 7", "LOLWUT VERSION 9 a",
		"LOLWUT VERSION a", "LOLWUT VERSION 1.5", "LOLWUT VERSION -3", "LOLWUT VERSION 99999999999", "LOLWUT VERSION 99999999999999999999",
		"LOLWUT VERSION 5 a", "LOLWUT VERSION 5 1 a", "LOLWUT VERSION 5 1 1 a", "LOLWUT VERSION 5 1 1 1 a", "LOLWUT VERSION 5 0 -1 0", "LOLWUT VERSION 5 1 1",
		"LOLWUT VERSION 6 a", "LOLWUT VERSION 6 1 a", "LOLWUT VERSION 6 1 1 a", "LOLWUT VERSION 6 -5 0",
	} {
		for _, hello := range []string{"2", "3"} {
			said := func(addr string) string {
				c := prototest.Dial(t, addr)
				prototest.Do(t, c, "HELLO", hello)
				v, err := c.Do(strings.Fields(line)...)
				if err != nil {
					t.Fatal(err)
				}
				if v.IsError() {
					return v.String()
				}
				lines := strings.SplitAfter(string(v.Bytes), "\n")
				last := lines[len(lines)-2]
				return string(v.Kind) + last[strings.Index(last, "Redis ver."):] + lines[len(lines)-1]
			}
			if got, want := said(ours), said(redis); got != want {
				t.Errorf("RESP%s, %s: %q, want %q", hello, line, got, want)
			}
		}
	}
}

// TestLolwutDraws checks a picture: it has the requested size, within bounds, and is the same each
// time.
func TestLolwutDraws(t *testing.T) {
	c := prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	for line, want := range map[string][2]int{
		"LOLWUT": {64, 16}, "LOLWUT VERSION 5": {64, 16}, "LOLWUT VERSION 5 10 7": {10, 4}, "LOLWUT VERSION 6 1 1": {1, 1},
		"LOLWUT VERSION 5 0 -5": {1, 1}, "LOLWUT VERSION 6 999999999 999999999": {1000, 256},
	} {
		args := strings.Fields(line)
		v, err := c.Do(args...)
		again, _ := c.Do(args...)
		text := string(v.Bytes)
		drawing, _, _ := strings.Cut(text, "\n\n")
		rows := strings.Split(drawing, "\n")
		if err != nil || len(rows) != want[1] || len([]rune(rows[0])) != want[0] || text != string(again.Bytes) {
			t.Errorf("%s: %d lines of %d, %v", line, len(rows), len([]rune(rows[0])), err)
		}
	}
}
