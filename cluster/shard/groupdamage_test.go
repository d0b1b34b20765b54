package shard

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damagedSays is part of the message about a damaged entry, damagedDo the advice in it.
const (
	damagedSays = "the checksum is wrong"
	damagedDo   = "this node must not vote with what is left"
)

// damage flips a bit in the data of an entry, wherever it is in the node's files: bbolt leaves
// copies in pages that it no longer uses.
func (n *testNode) damage(entry string) {
	n.w.t.Helper()
	found := 0
	n.w.must(filepath.WalkDir(n.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		for at := bytes.Index(whole, []byte(entry)); at >= 0; at = bytes.Index(whole, []byte(entry)) {
			found++
			whole[at] ^= 1
			if _, err := f.WriteAt(whole[at:at+1], int64(at)); err != nil {
				return err
			}
		}
		return nil
	}))
	if found == 0 {
		n.w.t.Fatalf("%q is in no file of %s", entry, n.id)
	}
}

// The library reads the whole log when it starts, and panics over an entry that it cannot read.
func TestAGroupWithADamagedEntryIsNotOpenedAndSaysWhy(t *testing.T) {
	for _, store := range bothStores {
		w := newWorld(t, 1, store, nil)
		w.must(w.leader().group.Append(w.ctx(), []byte("to be damaged")))
		w.write(20)
		n := w.nodes[0]
		n.stop()
		n.damage("to be damaged")
		cfg := n.stopped(&counter{})
		cfg.Transport, cfg.Fatal = n.transport, n.fatal
		_, err := OpenGroup(cfg)
		if err == nil || !strings.Contains(err.Error(), damagedSays) || !strings.Contains(err.Error(), damagedDo) {
			t.Errorf("%s: %v", store, err)
		}
	}
}

// A leader reads an old entry for a follower that has been away, and finds it damaged. The library
// continues or panics; the node ends, and the others go on without it.
func TestALeaderWithADamagedEntryEndsAndSaysWhy(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		w := newWorld(t, 3, store, steady)
		leader := w.leader()
		away := w.others(leader)[0]
		w.caughtUp(leader, away)
		away.stop()
		w.must(leader.group.Append(w.ctx(), []byte("to be damaged")))
		const more = 600 // more than are kept in memory
		w.write(more, w.others(away)...)
		leader.damage("to be damaged")
		away.start()
		w.until("the end of the leader", func() bool { return len(leader.ended()) > 0 })
		if err := leader.ended()[0]; !strings.Contains(err.Error(), damagedSays) || !strings.Contains(err.Error(), damagedDo) {
			t.Errorf("%s: %v", store, err)
		}
		leader.stop()
		w.write(5, w.others(leader)...)
		w.agree(w.others(leader)...)
	}
}
