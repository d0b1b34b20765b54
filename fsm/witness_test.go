package fsm

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"lockstep/engine/acl"
	"lockstep/engine/command"
)

// diary is a Witness that records its calls.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Publish(sharded bool, channel string, payload []byte) {
	d.note("publish %t %s %s", sharded, channel, payload)
}
func (d *diary) Log(level int, text string) { d.note("log %d %s", level, text) }
func (d *diary) Began() int64               { return 7 }
func (d *diary) Ended(_ command.Caller, mark int64, _ *command.Spec, args [][]byte, db int, failure []byte) {
	d.note("%d ran %q in %d failed %t", mark, args, db, failure != nil)
}
func (d *diary) Refused(_ command.Caller, user command.User, spec *command.Spec, _ [][]byte, denial command.Denial, failure []byte) {
	if spec == nil {
		d.note("unknown %.20q", failure)
		return
	}
	name := ""
	if named, ok := user.(interface{ UserName() string }); ok {
		name = named.UserName()
	}
	d.note("refused %s %d to %q", spec.Name, denial.Reason, name)
}

func (d *diary) Raised(failure []byte) { d.note("raised %q", failure) }

// TestWhoIsToldWhatScriptsDo: the replica that runs a script for a client reports its effects,
// once, also for a read. No other replica does, and none when the log is replayed.
func TestWhoIsToldWhatScriptsDo(t *testing.T) {
	const source = `redis.log(redis.LOG_WARNING, 'hello', 5) redis.call('select', 3) redis.call('set', KEYS[1], 'v')
		redis.pcall('lpush', KEYS[1], 'x') redis.pcall('nosuch') redis.pcall('auth', 'x') redis.pcall('get', 'other')
		redis.call('publish', 'c', 'm') return redis.call('spublish', 's', 'n')`
	user := acl.Read("on ~k +@all &*")
	txn := evalTxn(source, "k")
	txn.User = acl.Carry("ann", user)
	want := []string{
		"log 3 hello 5", `7 ran ["select" "3"] in 3 failed false`, `7 ran ["set" "k" "v"] in 3 failed false`,
		`7 ran ["lpush" "k" "x"] in 3 failed true`, `unknown "-ERR Unknown Redis c"`, `refused auth 0 to "ann"`, `refused get 2 to "ann"`,
		"publish false c m", `7 ran ["publish" "c" "m"] in 3 failed false`, "publish true s n", `7 ran ["spublish" "s" "n"] in 3 failed false`,
	}
	for _, c := range []struct {
		name string
		sink Sink
		want []string
	}{{"proposer", newRecorder(), want}, {"another replica", NoSink{}, nil}} {
		m := testMachine(t, c.sink)
		d := &diary{}
		m.cfg.Witness = d
		bundle := Bundle{Origin: Origin{Node: 1, Boot: 1}, FirstSeq: 1, Txns: []Txn{txn}}
		for index := uint64(1); index <= 2; index++ { // the second time the txn is known, and does not run
			if err := m.Apply(index, entryOf(index, bundle)); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.WaitExecuted(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.lines, c.want) {
			t.Errorf("%s:\n%q, want\n%q", c.name, d.lines, c.want)
		}
		d.lines = nil
		read := txnOf(0, "eval_ro", "return redis.call('get', KEYS[1])", "1", "k")
		if _, err := m.Read(t.Context(), &read, ReadOptions{Uncached: true}); err != nil {
			t.Fatal(err)
		}
		if want := []string{`7 ran ["get" "k"] in 0 failed false`}; !slices.Equal(d.lines, want) {
			t.Errorf("%s, a read: %q, want %q", c.name, d.lines, want)
		}
	}
}
