package admin_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// TestSyncBetweenOthers sends SYNC behind a long reply: the commands before it are answered, and
// then the file comes with its mark.
func TestSyncBetweenOthers(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Copied = []byte("REDIS0010")
	c := prototest.Dial(t, n.Addr)
	long := strings.Repeat("x", 1000)
	var raw []byte
	for _, args := range [][]string{{"REPLCONF", "capa", "eof"}, {"ECHO", long}, {"SYNC"}} {
		raw = respconn.AppendCommand(raw, args...)
	}
	if err := c.Write(raw); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^\+OK\r\n\$1000\r\n` + long + `\r\n\$EOF:([0-9a-f]{40})\r\nREDIS0010([0-9a-f]{40})$`)
	var got []byte
	_ = c.Net().SetReadDeadline(time.Now().Add(time.Minute))
	for buf := make([]byte, 4096); !want.Match(got); {
		k, err := c.Net().Read(buf)
		got = append(got, buf[:k]...)
		if err != nil {
			t.Fatalf("%v behind %q", err, got)
		}
	}
	if marks := want.FindSubmatch(got); string(marks[1]) != string(marks[2]) {
		t.Errorf("the marks are %q and %q", marks[1], marks[2])
	}
}
