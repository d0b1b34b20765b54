package shard

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// victimDir, in the environment, makes the test binary a victim: a process that proposes entries in
// a folder, reports which are committed, and is killed.
const victimDir, victimStore = "LOCKSTEP_TEST_VICTIM_DIR", "LOCKSTEP_TEST_VICTIM_STORE"

func TestVictim(t *testing.T) {
	dir := os.Getenv(victimDir)
	if dir == "" {
		t.Skip("only as a process that is killed")
	}
	w := &world{t: t}
	n := w.add("n1", os.Getenv(victimStore), nil)
	n.dir = dir
	n.set = func(c *GroupConfig) { c.SnapshotBytes, c.TrailingEntries = 512, 5 }
	n.start()
	w.must(n.group.Bootstrap([]raft.Server{{ID: n.id, Address: raft.ServerAddress(n.door.addr)}}))
	w.leader()
	for {
		// When this entry is answered, it and all before it are applied.
		w.must(n.group.Append(w.ctx(), []byte("another")))
		n.sm.mu.Lock()
		fmt.Printf("victim has %d\n", n.sm.n)
		n.sm.mu.Unlock()
	}
}

func TestKilledNodeKeepsEveryEntryItAcknowledged(t *testing.T) {
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			dir := t.TempDir()
			acknowledged := uint64(0)
			for _, entries := range []uint64{1, 150, 40, 333} {
				acknowledged = killAfter(t, dir, store, acknowledged+entries)
			}
			w := &world{t: t}
			n := w.add("n1", store, nil)
			n.dir = dir
			n.start()
			w.leader()
			w.until("the state", func() bool {
				n.sm.mu.Lock()
				defer n.sm.mu.Unlock()
				// One more may have been committed and not reported.
				return n.sm.n == acknowledged || n.sm.n == acknowledged+1
			})
		})
	}
}

// killAfter starts a victim, kills it when it has reported so many entries, and returns the last
// number that it reported.
func killAfter(t *testing.T, dir, store string, entries uint64) (last uint64) {
	t.Helper()
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.timeout=5m")
	// The victim's temporary files go with this test: it is killed and cannot remove them.
	victim.Env = append(os.Environ(), victimDir+"="+dir, victimStore+"="+store, "TMPDIR="+t.TempDir())
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	watch := time.AfterFunc(3*patience, func() { victim.Process.Kill() })
	defer watch.Stop()
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "victim has ")
		if !ok {
			said = append(said, lines.Text())
			continue
		}
		if last, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
		if last == entries {
			victim.Process.Kill()
		}
	}
	var exit *exec.ExitError
	if err := victim.Wait(); !errors.As(err, &exit) || last < entries {
		t.Fatalf("the victim ended at %d: %v\n%s", last, err, strings.Join(said, "\n"))
	}
	return last
}
