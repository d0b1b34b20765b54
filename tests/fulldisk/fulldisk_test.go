package fulldisk

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	patience   = 60 * time.Second
	valueBytes = 64 << 10
	// leaveBytes is the space that the ballast leaves for writes.
	leaveBytes = 4 << 20
	// writesMax bounds the number of writes that a full disk may take. Free pages of bbolt and the
	// preallocated files of raft-wal, of 64 MB each, have room for some.
	writesMax = 8000
)

// stores lists the log stores with the sizes of their disks. raft-wal makes files of 64 MB, one for
// each of two groups.
var stores = []struct {
	kind      string
	sizeBytes int64
}{{"boltdb", 64 << 20}, {"wal", 256 << 20}}

func key(n int) string { return fmt.Sprint("k", n) }

// value returns the key's number, with enough text behind it to fill a disk.
func value(n int) string { return fmt.Sprintf("%d %s", n, strings.Repeat("x", valueBytes)) }

func TestFullDiskEndsTheNodeAndLosesNothing(t *testing.T) {
	for _, s := range stores {
		t.Run(s.kind, func(t *testing.T) {
			t.Parallel()
			var d *proc.SmallDisk
			n := proc.NewNode(t, proc.Options{LogStore: s.kind, Before: func(n *proc.Node) { d = mountUnder(t, n, s.sizeBytes) }})
			const room = 20
			acked := writeUntilRefused(t, n.Addr(), 0, room)
			if acked != room {
				t.Fatalf("with room it took %d writes of %d", acked, room)
			}
			d.Fill(leaveBytes)
			acked = writeUntilRefused(t, n.Addr(), acked, writesMax)
			ended(t, n)
			t.Logf("%s: %d writes of %d bytes acknowledged; it ended with: %s", s.kind, acked, valueBytes, lastLine(n))

			// With the disk still full the node starts, or says why it does not.
			n.Start()
			proc.Wait(t, patience, "the node serves or ends", func() bool { return !n.Running() || proc.Ping(n.Addr()) })
			if n.Running() {
				n.Kill9()
			} else {
				t.Logf("%s: with the disk still full: %s", s.kind, lastLine(n))
				namesTheDisk(t, n)
			}
			d.Empty()
			n.Start()
			n.WaitReady()
			allThere(t, n.Addr(), acked)
			if got := writeUntilRefused(t, n.Addr(), acked, acked+room); got != acked+room {
				t.Errorf("with room again it took %d writes of %d", got-acked, room)
			}
		})
	}
}

// writeUntilRefused writes the keys from..to-1, and returns the first one that was not
// acknowledged.
func writeUntilRefused(t *testing.T, addr string, from, to int) int {
	t.Helper()
	c, err := respconn.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n := from; n < to; n++ {
		v, err := c.Do("SET", key(n), value(n))
		if err != nil {
			return n
		}
		if text, err := v.Text(); err != nil || text != "OK" {
			return n
		}
	}
	return to
}

// ended waits until the node has ended by itself, and checks its exit status and its last message.
func ended(t *testing.T, n *proc.Node) {
	t.Helper()
	proc.Wait(t, patience, "the node on the full disk ends", func() bool { return !n.Running() })
	if code := n.Stop(); code <= 0 {
		t.Errorf("%s ended with status %d", n.Name, code)
	}
	namesTheDisk(t, n)
}

func namesTheDisk(t *testing.T, n *proc.Node) {
	t.Helper()
	if last := lastLine(n); !strings.Contains(last, "no space left on device") {
		t.Errorf("the last that %s says does not name the disk: %s", n.Name, last)
	}
}

func lastLine(n *proc.Node) string {
	lines := strings.Split(strings.TrimSpace(n.LogTail(4000)), "\n")
	// Goroutines may still log while the process ends. The last line of the program itself counts.
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "lockstepd: ") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// allThere reads the first count keys.
func allThere(t *testing.T, addr string, count int) {
	t.Helper()
	c, err := respconn.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lost := 0
	for n := range count {
		v, err := c.Do("GET", key(n))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := v.Text(); err != nil || text != value(n) {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, count)
	}
}

func TestFullDiskOfOneNodeIsNoMatterToClientsOfTheOthers(t *testing.T) {
	for _, s := range stores {
		for _, who := range []string{"leader", "follower"} {
			t.Run(s.kind+"/"+who, func(t *testing.T) { oneOfThree(t, s.kind, s.sizeBytes, who == "leader") })
		}
	}
}

func oneOfThree(t *testing.T, kind string, sizeBytes int64, leader bool) {
	t.Parallel()
	full := 0
	if !leader {
		full = 2
	}
	var d *proc.SmallDisk
	c := proc.NewCluster(t, 3, proc.Options{LogStore: kind, Before: func(n *proc.Node) {
		if n.Index == full {
			d = mountUnder(t, n, sizeBytes)
		}
	}})
	victim := c.Nodes[full]
	c.Lead(c.Nodes[0])
	var acked [3]atomic.Int64
	var stop atomic.Bool
	var writers sync.WaitGroup
	for i, n := range c.Nodes {
		if i != full {
			writers.Go(func() { writeWithoutError(t, n.Addr(), i, &acked[i], &stop) })
		}
	}
	defer writers.Wait()
	defer stop.Store(true)
	d.Fill(leaveBytes)
	ended(t, victim)
	before := [3]int64{acked[0].Load(), acked[1].Load(), acked[2].Load()}
	proc.Wait(t, patience, "the others acknowledge 50 more writes each", func() bool {
		for i := range c.Nodes {
			if i != full && acked[i].Load() < before[i]+50 {
				return t.Failed()
			}
		}
		return true
	})
	stop.Store(true)
	writers.Wait()
	d.Empty()
	victim.Start()
	victim.WaitReady()
	for i := range c.Nodes {
		if i != full {
			strandIsThere(t, victim.Addr(), i, acked[i].Load())
		}
	}
	t.Logf("%s ended with its disk full; the others acknowledged %d and went on to %d", victim.Name, sum(before), sum([3]int64{acked[0].Load(), acked[1].Load(), acked[2].Load()}))
}

func sum(n [3]int64) int64 { return n[0] + n[1] + n[2] }

// strandKeys is the number of keys that each writer writes in turn. The log grows, and the keyspace
// does not.
const strandKeys = 20

func strandKey(writer, n int) string { return fmt.Sprintf("w%d:%d", writer, n%strandKeys) }

// writeWithoutError writes numbered values until stop is set. Any error that it gets is one that a
// client would see.
func writeWithoutError(t *testing.T, addr string, writer int, acked *atomic.Int64, stop *atomic.Bool) {
	c, err := respconn.Dial(addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.Patience = patience
	for n := 0; !stop.Load(); n++ {
		v, err := c.Do("SET", strandKey(writer, n), value(n))
		if err == nil {
			var text string
			if text, err = v.Text(); err == nil && text != "OK" {
				err = fmt.Errorf("answer %q", text)
			}
		}
		if err != nil {
			t.Errorf("a client of another node saw: %v", err)
			return
		}
		acked.Add(1)
	}
}

// strandIsThere checks the newest value of each key of a writer.
func strandIsThere(t *testing.T, addr string, writer int, acked int64) {
	t.Helper()
	for n := max(0, int(acked)-strandKeys); n < int(acked); n++ {
		if got, err := proc.Ask(addr, "GET", strandKey(writer, n)); err != nil || got != value(n) {
			t.Errorf("write %d of client %d is lost: %.20q, %v", n, writer, got, err)
		}
	}
}

// mountUnder mounts a small disk under a node. It skips the test without the right to do so.
func mountUnder(t *testing.T, n *proc.Node, sizeBytes int64) *proc.SmallDisk {
	t.Helper()
	d := proc.MountSmall(t, n, sizeBytes)
	if d == nil {
		proc.Skip(t, "no right to mount a small disk")
	}
	return d
}
