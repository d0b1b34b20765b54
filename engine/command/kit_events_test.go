package command

import (
	"fmt"

	"lockstep/engine"
)

// Recorder keeps the events of some classes, as "db event key".
type Recorder struct {
	Classes EventClass
	Events  []string
}

// Wants implements Observer.
func (r *Recorder) Wants(classes EventClass) bool { return r.Classes&classes != 0 }

// Event implements Observer.
func (r *Recorder) Event(class EventClass, event string, db int, key []byte) {
	if r.Classes&class != 0 {
		r.Events = append(r.Events, fmt.Sprintf("%d %s %q", db, event, key))
	}
}

// Filled implements Observer.
func (r *Recorder) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (r *Recorder) Gone(int, []byte) {}

func (r *Recorder) Take() []string {
	events := r.Events
	r.Events = nil
	return events
}

// Deaf is an Observer that has no use for events, as a shard's is by default.
type Deaf struct{}

func (Deaf) Wants(EventClass) bool { return false }

func (Deaf) Event(_ EventClass, _ string, _ int, _ []byte) {}

func (Deaf) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (Deaf) Gone(int, []byte) {}

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

// EventsOf runs a command and returns its events.
func (r *Runner) EventsOf(line string) []string {
	args := Words(line)
	spec, _ := Lookup(args)
	r.Out.Reset(r.Proto)
	r.TxnNo++
	var heard eventLog
	spec.Run(&Ctx{KS: r.KS, Out: &r.Out, TxnNo: r.TxnNo, Logged: true, Times: Times{NowMs: r.NowMs}, Meter: Meter{Settings: &r.Settings}, Listeners: Listeners{Observer: &heard}}, args)
	return heard.events
}
