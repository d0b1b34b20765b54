package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/cmd/clusterctl/backup"
	"lockstep/tests/kit/standin"
)

// server answers commands by their names, and returns its address.
func server(t *testing.T, answer func(name string) string) (addr string) {
	t.Helper()
	return standin.Serve(t, func(args []string) string { return answer(strings.ToUpper(args[0])) })
}

// encoded returns a stream of commands.
func encoded(commands ...string) string {
	var b strings.Builder
	for _, c := range commands {
		words := strings.Fields(c)
		fmt.Fprintf(&b, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
		}
	}
	return b.String()
}

// The cut-over ends the applier as soon as everything counts as applied. A command on several hash
// slots, which runs by itself, must not count before it has run.
func TestNothingCountsAsAppliedBeforeItHasRun(t *testing.T) {
	t.Parallel()
	var applied, ran atomic.Int64
	before := make(chan int64, 1)
	addr := server(t, func(name string) string {
		switch name {
		case "HELLO":
			return "-ERR unknown command\r\n"
		case "MSET":
			before <- applied.Load()
		}
		return "+OK\r\n"
	})
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DisableIdentity: true, Protocol: 2})
	defer c.Close()
	conn := c.Conn()
	defer conn.Close()
	first := encoded("SELECT 0", "SET a 1")
	all := first + encoded("MSET b 1 c 2")
	a := &applier{in: &streamReader{in: bufio.NewReader(strings.NewReader(all))}, conn: conn, db: "0", applied: &applied, ran: &ran}
	if err := a.run(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got := <-before; got != int64(len(first)) {
		t.Errorf("%d bytes counted as applied before MSET had run, want %d", got, len(first))
	}
	if got := applied.Load(); got != int64(len(all)) {
		t.Errorf("%d bytes are applied in the end, want %d", got, len(all))
	}
}

// A source may take long to write its file. A copy that is told to end does not wait for it.
func TestACopyThatIsToEndDoesNotWaitForItsSource(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := &Options{Dir: t.TempDir(), Say: t.Logf, Source: &redis.Options{Addr: server(t, func(name string) string {
		if name == "PSYNC" {
			cancel()
			return "+FULLRESYNC 0 0\r\n"
		}
		return "+OK\r\n"
	})}}
	ended := make(chan error, 1)
	go func() { ended <- o.copyOnce(ctx) }()
	select {
	case err := <-ended:
		if !errors.As(err, new(NotBegun)) {
			t.Error(err)
		}
	case <-time.After(silenceMax / 2):
		t.Fatal("it waits")
	}
}

// A source that cannot continue at this moment is asked again, for the same history.
func TestALinkThatIsMadeAgainAsksForTheSameHistory(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 2)
	addr := standin.Serve(t, func(args []string) string {
		if args[0] != "PSYNC" {
			return "+OK\r\n"
		}
		asked <- strings.Join(args, " ")
		if len(asked) == 1 {
			return "-NOMASTERLINK Can't SYNC while not connected with my master\r\n"
		}
		return "+CONTINUE\r\n"
	})
	f := &follower{Options: &Options{Source: &redis.Options{Addr: addr}, Load: backup.LoadOptions{Patience: time.Minute}}, id: "history"}
	f.received.Store(41)
	if err := f.reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer f.link.Load().conn.Close()
	for range 2 {
		if got := <-asked; got != "PSYNC history 42" {
			t.Errorf("it asks %q", got)
		}
	}
}

// The node that is asked may have no replica of the shard with a database's keys.
func TestDatabasesOfOtherNodesAreCompared(t *testing.T) {
	t.Parallel()
	serve := func(keyspace string) string {
		db := "0"
		return standin.Serve(t, func(args []string) string {
			switch strings.ToUpper(args[0]) {
			case "HELLO":
				return "-ERR unknown command\r\n"
			case "SELECT":
				db = args[1]
			case "INFO":
				return fmt.Sprintf("$%d\r\n%s\r\n", len(keyspace), keyspace)
			case "SCAN":
				if db == "5" {
					return "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n"
				}
				return "*2\r\n$1\r\n0\r\n*0\r\n"
			case "TYPE":
				return "+string\r\n"
			}
			return "+OK\r\n"
		})
	}
	o := &Options{
		Source: &redis.Options{Addr: serve("db5:keys=1"), MaxRetries: -1, DisableIdentity: true, Protocol: 2},
		Load:   backup.LoadOptions{Target: backup.Target{Addr: serve(""), Timeout: time.Minute}},
	}
	if d, err := compare(t.Context(), o); err != nil || !d.None() || d.Cluster["db5 string"] != 1 {
		t.Errorf("%v, %+v", err, d)
	}
}

// A transaction with several SWAPDBs moves the cluster's mark more than once.
func TestTheMarkIsFoundBehindSeveralSwaps(t *testing.T) {
	swap := func(a, b string) []any { return []any{"SWAPDB", a, b} }
	for _, c := range []struct {
		swaps [][]any
		want  string
	}{
		{[][]any{swap("0", "2")}, "2"},
		{[][]any{swap("2", "0"), swap("15", "2")}, "15"},
		{[][]any{swap("0", "2"), swap("1", "15")}, "2"},
		{[][]any{swap("0", "2"), swap("2", "0")}, "0"},
		{[][]any{swap("1", "2")}, "0"},
	} {
		mark := "0"
		for _, args := range c.swaps {
			mark = swapped(mark, args)
		}
		if mark != c.want {
			t.Errorf("%v: the mark is looked for in %s, not in %s", c.swaps, mark, c.want)
		}
	}
}
