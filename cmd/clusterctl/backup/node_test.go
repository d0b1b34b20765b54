package backup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/engine"
	"lockstep/tests/kit/standin"
)

// node serves one connection as a node would, one command after the other.
func node(t *testing.T, answer func(args []string) string) *Target {
	t.Helper()
	return &Target{Addr: standin.Serve(t, answer), Timeout: time.Minute}
}

// plain answers like a node whose own replicas are still empty, and whose shards have no functions.
func plain(args []string) string {
	switch strings.ToUpper(args[0]) {
	case "HELLO":
		return "-ERR unknown command\r\n"
	case "INFO":
		return "$0\r\n\r\n"
	case "FUNCTION":
		return "*0\r\n"
	}
	return "+OK\r\n"
}

// A node that has just joined, or starts anew, has no keys itself. The contents of the shards
// decide, or a restore would overwrite them.
func TestAClusterIsNotEmptyBecauseTheNodeIs(t *testing.T) {
	t.Parallel()
	db := ""
	c := node(t, func(args []string) string {
		switch strings.ToUpper(args[0]) {
		case "SELECT":
			db = args[1]
		case "DBSIZE":
			if db == "5" {
				return ":3\r\n"
			}
			return ":0\r\n"
		}
		return plain(args)
	}).Dial(0)
	defer c.Close()
	if held, err := Holdings(t.Context(), c); err != nil || held != "db5:keys=3" {
		t.Errorf("it holds %q, %v", held, err)
	}
}

// Such a node also does not know which databases have held keys.
func TestEveryDatabaseIsReleased(t *testing.T) {
	t.Parallel()
	db, set := "0", ""
	to := node(t, func(args []string) string {
		switch strings.ToUpper(args[0]) {
		case "SELECT":
			db = args[1]
		case "SCAN":
			if db == "5" {
				return "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n"
			}
			return "*2\r\n$1\r\n0\r\n*0\r\n"
		case "PEXPIRETIME":
			return fmt.Sprintf(":%d\r\n", HoldMs+7)
		case "PEXPIREAT":
			set = strings.Join(args[1:], " ")
			return ":1\r\n"
		}
		return plain(args)
	})
	if err := Release(t.Context(), &LoadOptions{Target: *to}); err != nil {
		t.Fatal(err)
	}
	if set != "k 7" {
		t.Errorf("what was set is %q", set)
	}
}

// Values that are sent in pieces are in memory one at a time, as other batches are.
func TestLargeValuesDoNotGather(t *testing.T) {
	t.Parallel()
	const values = 3
	l := &loader{opt: &LoadOptions{}, out: make(chan batch, values)}
	for i := range values {
		if err := l.add(t.Context(), 0, engine.NewString(fmt.Append(nil, i), make([]byte, pieceBytes))); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(l.out) != values {
		t.Errorf("%d values make %d batches", values, len(l.out))
	}
}
