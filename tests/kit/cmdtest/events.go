package cmdtest

import (
	"fmt"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// Recorder collects the events of some classes, as "db event key".
type Recorder struct {
	Classes command.EventClass
	Events  []string
}

// Wants implements Observer.
func (r *Recorder) Wants(classes command.EventClass) bool { return r.Classes&classes != 0 }

// Event implements Observer.
func (r *Recorder) Event(class command.EventClass, event string, db int, key []byte) {
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

// Deaf is an Observer that wants no events, like that of a shard by default.
type Deaf struct{}

func (Deaf) Wants(command.EventClass) bool { return false }

func (Deaf) Event(_ command.EventClass, _ string, _ int, _ []byte) {}

func (Deaf) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (Deaf) Gone(int, []byte) {}

// eventLog collects events as "key event".
type eventLog struct{ events []string }

// Wants implements Observer.
func (*eventLog) Wants(command.EventClass) bool { return true }

func (l *eventLog) Event(class command.EventClass, event string, _ int, key []byte) {
	if class&(command.EventNew|command.EventMiss) != 0 {
		return // event_test.go tests these
	}
	l.events = append(l.events, string(key)+" "+event)
}

func (*eventLog) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (*eventLog) Gone(int, []byte) {}

// EventsOf runs a command and returns its events.
func (r *Runner) EventsOf(line string) []string {
	args := Words(line)
	spec, _ := commands.Lookup(args)
	r.Out.Reset(r.Proto)
	r.TxnNo++
	var heard eventLog
	spec.Run(&command.Ctx{KS: r.KS, Out: &r.Out, TxnNo: r.TxnNo, Logged: true, Times: command.Times{NowMs: r.NowMs}, Meter: command.Meter{Settings: &r.Settings}, Listeners: command.Listeners{Observer: &heard}}, args)
	return heard.events
}
