package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"lockstep/engine"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
	"lockstep/engine/sched"
	"lockstep/engine/stream"
)

// A key that had expired before the snapshot has also expired behind it, even if it was not deleted
// and no entry came since then.
func TestTheTimeOfTheLogIsInSnapshots(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		o := Origin{Node: 5, Boot: 2}
		g.ask(o, 0, 0, "set", "k", "v", "pxat", "1002")
		g.ask(o, 1, 0, "set", "other", "v")
		if g.StampMs() != 1002 {
			t.Fatalf("the log's time is %d", g.StampMs())
		}
		reload()
		if got := readText(t, g.Machine, "get", "k"); got != "$-1\r\n" {
			t.Errorf("the key is back: %q", got)
		}
		if g.StampMs() != 1002 {
			t.Errorf("the log's time is %d", g.StampMs())
		}
	})
}

// EXEC fails if a watched key has changed, whatever changed it, also if a snapshot came in between.
func TestWatchesSeeWhatASnapshotHolds(t *testing.T) {
	set := []string{"set", "k", "v"}
	for _, c := range []struct {
		name    string
		before  [][]string
		changes [][]string
		holds   bool
	}{
		{"nothing", [][]string{set}, nil, true},
		{"no key and nothing", nil, nil, true},
		{"another key", [][]string{set}, [][]string{{"set", "other", "v"}}, true},
		{"the same text", [][]string{set}, [][]string{set}, false},
		{"a key that came", nil, [][]string{set}, false},
		{"a key that went", [][]string{set}, [][]string{{"del", "k"}}, false},
		{"a key that came and went", nil, [][]string{set, {"del", "k"}}, false},
		{"a key that came and was flushed", nil, [][]string{set, {"flushdb"}}, false},
		{"a swap of empty databases", nil, [][]string{{"swapdb", "0", "1"}}, false},
		{"a swap there and back", [][]string{set}, [][]string{{"swapdb", "0", "1"}, {"swapdb", "0", "1"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, g *gateways, reload func()) {
				o, seq := Origin{Node: 5, Boot: 2}, uint64(0)
				run := func(commands [][]string) {
					for _, args := range commands {
						g.ask(o, seq, seq, args...)
						seq++
					}
				}
				run(c.before)
				w := Watch{Key: []byte("k"), SeenAt: g.TxnNo()}
				if len(c.before) > 0 {
					w.Version = g.TxnNo()
				}
				run(c.changes)
				reload()
				exec := txnOf(0, "set", "done", "1")
				exec.Kind, exec.Watches = KindExec, []Watch{w}
				want := "0 *-1\r\n"
				if c.holds {
					want = "0 *1\r\n+OK\r\n"
				}
				g.want("EXEC", g.askTxn(o, seq, seq, exec), want)
			})
		})
	}
}

func TestTheSettingsAreInSnapshots(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateways, reload func()) {
		setting := txnOf(0, "lockstep.set", "proto-max-bulk-len", "1048576")
		setting.Kind = KindSetting
		g.askTxn(Origin{Node: 5, Boot: 2}, 0, 0, setting)
		reload()
		if got := g.Settings(); got.ValueBytesMax != 1<<20 {
			t.Errorf("behind the snapshot it is %d", got.ValueBytesMax)
		}
		got := g.ask(Origin{Node: 5, Boot: 2}, 1, 1, "setrange", "k", "1048576", "x")
		g.want("a value beyond it", got, "0 -ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n")
	})
}

// A txn that had not run when the snapshot was begun is nevertheless in it, with its reply. If it
// is retried behind the snapshot, it does not run again.
func TestASnapshotWaitsForTheTxnsItHolds(t *testing.T) {
	g := newGateways(t)
	o := Origin{Node: 5, Boot: 2}
	goOn := g.hold("n", sched.Exclusive)
	g.begin(o, 0, 0, txnOf(0, "incr", "n"))
	s, err := g.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	var image bytes.Buffer
	persisted := make(chan error, 1)
	go func() { persisted <- s.Persist(&image) }()
	g.eventually("the snapshot waits", func() bool {
		g.progress.mu.Lock()
		defer g.progress.mu.Unlock()
		return len(g.progress.mu.waiters) == 1
	})
	goOn()
	if err := <-persisted; err != nil {
		t.Fatal(err)
	}
	g.become(&image)
	g.want("asked again", g.ask(o, 0, 0, "incr", "n"), "0 :1\r\n")
}

// firstRead records that a reader has begun to read.
type firstRead struct {
	io.Reader
	begun atomic.Bool
}

func (r *firstRead) Read(p []byte) (int, error) {
	r.begun.Store(true)
	return r.Reader.Read(p)
}

// A snapshot replaces a state in which nothing runs any more. A txn that ended later would set the
// machine's progress back.
func TestARestoreWaitsForWhatRuns(t *testing.T) {
	from := newGateways(t)
	for seq := range uint64(9) {
		from.ask(Origin{Node: 5, Boot: 2}, seq, 0, "incr", "n")
	}
	image := from.image()
	g := newGateways(t)
	goOn := g.hold("n", sched.Exclusive)
	g.begin(Origin{Node: 5, Boot: 2}, 0, 0, txnOf(0, "incr", "n"))
	reader := &firstRead{Reader: image}
	restored := make(chan error, 1)
	go func() { restored <- g.Restore(reader) }()
	for range 1000 {
		runtime.Gosched()
	}
	if reader.begun.Load() {
		t.Error("the snapshot is read while a txn is open")
	}
	goOn()
	if err := <-restored; err != nil {
		t.Fatal(err)
	}
	if g.Executed() != 9 || g.Queued() != 9 {
		t.Errorf("executed %d, queued %d", g.Executed(), g.Queued())
	}
	if got := readText(t, g.Machine, "get", "n"); got != "$1\r\n9\r\n" {
		t.Errorf("%q", got)
	}
}

// fullDisk accepts no data.
type fullDisk struct{}

var errFullDisk = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFullDisk }

// A snapshot that cannot be written is abandoned at once: the rest of the state is not encoded for
// nothing.
func TestASnapshotThatCannotBeWrittenIsGivenUp(t *testing.T) {
	g := newGateways(t)
	slots := map[int32]bool{}
	text := strings.Repeat("x", 100_000)
	for i := uint64(0); len(slots) < g.Keyspace().LockSlots(); i++ {
		key := fmt.Sprint("key:", i)
		slots[g.Keyspace().LockSlot([]byte(key))] = true
		g.ask(Origin{Node: 5, Boot: 2}, i, i, "set", key, text)
	}
	s, err := g.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	before := g.Sched().Stats().Tickets
	if err := s.Persist(fullDisk{}); !errors.Is(err, errFullDisk) {
		t.Errorf("the error is %v", err)
	}
	if n := g.Sched().Stats().Tickets - before; n > 4 {
		t.Errorf("%d lock slots were written", n)
	}
}

// streamNode is a node's listpack whose entries are so many milliseconds behind the node's ID. The
// flags of the entries are written as a number with the bytes in flags.
func streamNode(flags []byte, behindMs ...int64) []byte {
	pack := []byte{0, 0, 0, 0, 0xff, 0xff}
	for _, n := range []int64{int64(len(behindMs)), 0, 1} {
		pack = rdb.AppendPackNumber(pack, n)
	}
	pack = rdb.AppendPackNumber(rdb.AppendPackItem(pack, []byte("f")), 0)
	for _, ms := range behindMs {
		pack = rdb.AppendPackNumber(rdb.AppendPackNumber(append(pack, flags...), ms), 0)
		pack = rdb.AppendPackNumber(rdb.AppendPackItem(pack, []byte("v")), 4)
	}
	pack = append(pack, 0xff)
	pack[0] = byte(len(pack))
	return pack
}

// RESTORE accepts streams that no server writes, and commands may turn them into streams that
// RESTORE would refuse. A snapshot with such a stream must be readable, or the shard could never be
// opened again.
func TestASnapshotIsReadWhateverBecameOfAStream(t *testing.T) {
	sameNames := rdb.AppendPackNumber(nil, 2)
	sameNamesWide := []byte{0xf4, 2, 0, 0, 0, 0, 0, 0, 0, 9}
	for _, c := range []struct {
		name    string
		first   []byte
		command []string
	}{
		{"its last entry is behind the last ID", streamNode(sameNames, 100), []string{"xdel", "s", "5-0"}},
		{"a node of it is damaged", streamNode(sameNamesWide, 0, 1, 2), []string{"xtrim", "s", "maxlen", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stream.New()
			for id, pack := range [][]byte{1: c.first, 5: streamNode(sameNames, 0)} {
				if pack == nil {
					continue
				}
				if err := s.AddNode(stream.ID{Ms: uint64(id)}, pack); err != nil {
					t.Fatal(err)
				}
			}
			s.State.Last = stream.ID{Ms: 5}
			payload := values.AppendPayload(nil, engine.NewObject([]byte("s"), engine.KindStream, s))
			m := newLockedMachine(t)
			for _, txn := range []Txn{txnOf(0, "restore", "s", "0", string(payload)), txnOf(0, c.command...)} {
				entry := m.apply(txn)
				if m.executed(entry); strings.HasPrefix(m.reply(entry), "-") {
					t.Fatal(m.reply(entry))
				}
			}
			if typ, body, ok := rdb.OpenPayload([]byte(payloadOf(t, m.Machine, "s"))); !ok {
				t.Fatal("no dump")
			} else if _, err := values.ReadValue(rdb.NewSource(body), typ, []byte("s"), nil); err == nil {
				t.Fatal("RESTORE would take it: nothing is tested")
			}
			image, again := imageOf(t, m.Machine), testMachine(t, nil)
			if err := again.Restore(bytes.NewReader(image)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(imageOf(t, again), image) {
				t.Error("the snapshot of what was read is another one")
			}
		})
	}
}

// payloadOf is the reply of DUMP for a key.
func payloadOf(t *testing.T, m *Machine, key string) string {
	t.Helper()
	_, text, _ := strings.Cut(readText(t, m, "dump", key), "\r\n")
	return strings.TrimSuffix(text, "\r\n")
}
