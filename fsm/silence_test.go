package fsm

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// listener records all events.
type listener struct {
	mu   sync.Mutex
	said []string
}

func (l *listener) Wants(command.EventClass) bool { return true }

func (l *listener) Event(_ command.EventClass, event string, db int, key []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, fmt.Sprintf("%d %s %s", db, event, key))
}

func (l *listener) Filled(int, []byte, engine.Kind) {}
func (l *listener) Gone(int, []byte)                {}

// take returns the events since its last call.
func (l *listener) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := fmt.Sprint(l.said)
	l.said = nil
	return said
}

// Keyspace events report commands as they run. A snapshot that adds and removes keys gives no
// events. Commands behind it do.
func TestASnapshotGivesNoKeyspaceEvents(t *testing.T) {
	open := func() (*lockedMachine, *listener) {
		ear := &listener{}
		m := &lockedMachine{t: t, replies: newRecorder()}
		m.Machine = New(Config{Group: 7, Engine: engine.Config{LockSlots: 64}, Sink: m.replies, Observer: ear, Sched: sched.Config{Permits: 8, Workers: 4}})
		t.Cleanup(m.Close)
		return m, ear
	}
	from, said := open()
	from.executed(from.apply(txnOf(0, "set", "k", "v", "pxat", "5000"), txnOf(0, "rpush", "l", "x"), txnOf(0, "xadd", "s", "1-1", "f", "v"), txnOf(0, "hset", "h", "f", "v"), txnOf(3, "zadd", "z", "1", "m")))
	if got := said.take(); got == "[]" {
		t.Fatal("nobody heard what made the keys")
	}
	to, heard := open()
	to.executed(to.apply(txnOf(0, "set", "only here", "v"), txnOf(0, "rpush", "l", "y")))
	heard.take()
	if err := to.Restore(bytes.NewReader(imageOf(t, from.Machine))); err != nil {
		t.Fatal(err)
	}
	if got := heard.take(); got != "[]" {
		t.Errorf("of a snapshot is told %s", got)
	}
	to.index = from.index
	to.executed(to.apply(txnOf(0, "lpop", "l")))
	if got := heard.take(); got != "[0 lpop l 0 del l]" {
		t.Errorf("behind it: %s", got)
	}
}
