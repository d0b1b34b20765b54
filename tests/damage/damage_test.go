package damage

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	patience = time.Minute
	// needle is the value of one key. keys is the number of other keys that are written around it.
	needle = "the-value-that-is-damaged"
	keys   = 300
)

// advice is part of the last message of a node that has lost data.
const advice = "this node must not vote with what is left"

// part is a file of a node, given by a part of its path, with the offsets that are damaged.
type part struct {
	path string
	at   func(whole []byte) []int
}

// all returns the offsets of a text in a file. There may be several, because bbolt leaves copies in
// pages that it no longer uses.
func all(whole []byte, of string) (places []int) {
	for at := 0; ; at += len(of) {
		next := bytes.Index(whole[at:], []byte(of))
		if next < 0 {
			return places
		}
		at += next
		places = append(places, at)
	}
}

func atNeedle(whole []byte) []int { return all(whole, needle) }

// atTerm returns offsets in the stored terms, which follow their key and their length.
func atTerm(whole []byte) (places []int) {
	for _, at := range all(whole, "CurrentTerm") {
		places = append(places, at+len("CurrentTerm")+4+7)
	}
	return places
}

const boltPage = 4096

// atRoot returns an offset in one of the root pages of a bbolt file.
func atRoot([]byte) []int { return []int{boltPage + 16 + 48} }

// atPage returns the offsets of the bbolt pages that hold the needle.
func atPage(whole []byte) (places []int) {
	for _, at := range all(whole, needle) {
		places = append(places, at-at%boltPage)
	}
	return places
}

// ways are the ways to damage a file. used is how much of the file is not empty.
var ways = map[string]func(f *os.File, at int, used int64) error{
	"a flipped bit": func(f *os.File, at int, _ int64) error {
		var b [1]byte
		_, err := f.ReadAt(b[:], int64(at))
		if err == nil {
			_, err = f.WriteAt([]byte{b[0] ^ 4}, int64(at))
		}
		return err
	},
	"a hole of 300 bytes": func(f *os.File, at int, _ int64) error {
		_, err := f.WriteAt(make([]byte, 300), int64(at))
		return err
	},
	"the tail cut at 90 %": func(f *os.File, _ int, used int64) error { return f.Truncate(used * 9 / 10) },
	// This cut is for a log that a running node reads, because the very end of such a log is still
	// in memory.
	"a cut at half": func(f *os.File, _ int, used int64) error { return f.Truncate(used / 2) },
}

// apply damages this part of a node's folder.
func (p part) apply(t *testing.T, dir, way string) {
	t.Helper()
	var path string
	_ = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.Contains(at, p.path) {
			if whole, err := os.ReadFile(at); err == nil && len(p.at(whole)) > 0 {
				path = at
			}
		}
		return err
	})
	if path == "" {
		t.Fatalf("no file like %s can be damaged", p.path)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range p.at(whole) {
		if err := ways[way](f, at, int64(len(bytes.TrimRight(whole, "\x00")))); err != nil {
			t.Fatal(err)
		}
	}
}

// fill writes keys through a node to all its shards.
func fill(t *testing.T, addr string) {
	t.Helper()
	conn := proc.Dial(t, addr)
	for i := range keys {
		if i == keys/2 {
			proc.Do(t, conn, "SET", "needle", needle)
		}
		if got := proc.Do(t, conn, "SET", fmt.Sprint("key:", i), strings.Repeat("v", 200)); got != "+OK" {
			t.Fatal(got)
		}
	}
}

// endsInWords waits until a node has ended, and checks that it gave a reason.
func endsInWords(t *testing.T, n *proc.Node, what string) {
	t.Helper()
	var code int
	proc.Wait(t, patience, n.Name+" ends", func() (ended bool) { code, ended = n.Ended(); return ended })
	log := n.LogTail(4000)
	lines := strings.Split(strings.TrimSpace(log), "\n")
	said := lines[len(lines)-1]
	if code != 1 || !strings.HasPrefix(said, "lockstepd: ") || !strings.Contains(said, advice) {
		t.Errorf("%s: exit code %d, and its last words are %q", what, code, said)
	}
	// Go prints these when it ends a process. The node's own log may contain the stack of a
	// recovered panic.
	for _, line := range lines {
		for _, begin := range []string{"panic:", "goroutine ", "fatal error:", "[signal "} {
			if strings.HasPrefix(line, begin) {
				t.Fatalf("%s: it says %q:\n%s", what, begin, log)
			}
		}
	}
	t.Logf("%s: %s", what, said)
}

// TestADamagedNodeDoesNotStartAndSaysWhy: a node whose files were damaged while it was stopped does
// not start, and says why.
func TestADamagedNodeDoesNotStartAndSaysWhy(t *testing.T) {
	proc.NeedProcesses(t)
	for _, store := range []string{"boltdb", "wal"} {
		for _, shards := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d shards", store, shards), func(t *testing.T) {
				t.Parallel()
				n := proc.NewNode(t, proc.Options{LogStore: store, Shards: shards})
				fill(t, n.Addr())
				n.Kill9()
				sound := t.TempDir()
				if err := os.CopyFS(sound, os.DirFS(n.DataDir())); err != nil {
					t.Fatal(err)
				}
				for _, p := range parts(store, shards) {
					for way := range ways { // in whatever order
						if err := os.RemoveAll(n.DataDir()); err != nil {
							t.Fatal(err)
						}
						if err := os.CopyFS(n.DataDir(), os.DirFS(sound)); err != nil {
							t.Fatal(err)
						}
						p.apply(t, n.DataDir(), way)
						n.Start()
						endsInWords(t, n, way+" in "+p.path)
					}
				}
			})
		}
	}
}

// parts returns the files and offsets that are damaged.
func parts(store string, shards int) []part {
	log := "shard-0"
	if shards > 1 {
		log = "journal"
	}
	both := []part{{log, atNeedle}, {"stable.db", atTerm}, {"stable.db", atRoot}}
	if store == "boltdb" {
		return append(both, part{"log.db", atRoot}, part{log, atPage})
	}
	return append(both, part{"wal-meta.db", atRoot})
}
