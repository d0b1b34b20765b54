package command

import (
	"fmt"

	"lockstep/engine"
)

// recorder keeps the events of some classes, as "db event key".
type recorder struct {
	classes EventClass
	events  []string
}

// Wants implements Observer.
func (r *recorder) Wants(classes EventClass) bool { return r.classes&classes != 0 }

// Event implements Observer.
func (r *recorder) Event(class EventClass, event string, db int, key []byte) {
	if r.classes&class != 0 {
		r.events = append(r.events, fmt.Sprintf("%d %s %q", db, event, key))
	}
}

// Filled implements Observer.
func (r *recorder) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (r *recorder) Gone(int, []byte) {}

func (r *recorder) take() []string {
	events := r.events
	r.events = nil
	return events
}

// deaf is an Observer that has no use for events, as a shard's is by default.
type deaf struct{}

func (deaf) Wants(EventClass) bool { return false }

func (deaf) Event(_ EventClass, _ string, _ int, _ []byte) {}

func (deaf) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (deaf) Gone(int, []byte) {}

// eventLog keeps events as "key event".
type eventLog struct{ events []string }

// Wants implements Observer.
func (*eventLog) Wants(EventClass) bool { return true }

func (l *eventLog) Event(class EventClass, event string, _ int, key []byte) {
	if class&(EventNew|EventMiss) != 0 {
		return // event_test.go looks at these
	}
	l.events = append(l.events, string(key)+" "+event)
}

func (*eventLog) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (*eventLog) Gone(int, []byte) {}

// events runs a command and returns its events.
func (r *runner) events(line string) []string {
	args := words(line)
	spec, _ := Lookup(args)
	r.out.Reset(r.proto)
	r.txnNo++
	var heard eventLog
	spec.Run(&Ctx{KS: r.ks, Out: &r.out, TxnNo: r.txnNo, Logged: true, Times: Times{NowMs: r.nowMs}, Meter: Meter{Settings: &r.settings}, Listeners: Listeners{Observer: &heard}}, args)
	return heard.events
}
