package script

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
)

// meter counts the work of a run, and bounds it.
type meter struct {
	limits      *Limits
	work, bytes int64 // left
	over        error // the reason, once a budget is spent
	stop        func() error
	stopped     bool // over was returned by stop
	rest        func()
	pauseAt     int64 // work left at the next pause
}

var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// pauseEvery is the amount of work between two pauses.
const pauseEvery = 300_000

// spend charges n units of work. If the run must end it raises that error.
func (m *meter) spend(L *lua.LState, n int) {
	m.count(n)
	m.passOn(L)
}

// count charges n units of work, and pauses from time to time.
func (m *meter) count(n int) {
	if m.work -= int64(n); m.work <= m.pauseAt {
		m.reached()
	}
}

// reached pauses or ends the run, because the work left has reached pauseAt.
func (m *meter) reached() {
	if m.work <= 0 {
		m.end(overWork(m.limits))
		return
	}
	m.pauseAt = max(m.work-pauseEvery, 0)
	m.pause()
}

// pause yields the processor for a moment, and checks whether to stop.
func (m *meter) pause() {
	if m.rest != nil {
		m.rest()
	}
	if m.stop != nil && m.over == nil {
		m.over = m.stop()
		m.stopped = m.over != nil
	}
}

// end ends the run for good, if nothing has ended it before.
func (m *meter) end(err error) {
	if m.over == nil {
		m.over = err
	}
}

// The errors that end a script.
func overWork(l *Limits) error {
	return fmt.Errorf("the script was ended: it did more than %d ms of work (script-max-work-ms); what it wrote stays", l.Work/Millisecond)
}

func overMemory(l *Limits) error {
	if l == &loadLimits {
		return fmt.Errorf("a library may allocate %d bytes when it is loaded", l.Bytes)
	}
	return fmt.Errorf("the script was ended: it allocated more than %d bytes (script-max-memory); what it wrote stays", l.Bytes)
}

func overReply(l *Limits) error {
	return fmt.Errorf("the script was ended: its reply is longer than %d bytes (script-max-reply); what it wrote stays", l.ReplyBytes)
}

// passOn raises the error that ends the run, which no pcall can catch for good.
func (m *meter) passOn(L *lua.LState) {
	if m.over != nil {
		L.RaiseError("%s", m.over.Error())
	}
}

// use charges n bytes, before they are allocated, and the work of allocating them.
func (m *meter) use(L *lua.LState, n int) {
	if m.bytes -= int64(n); m.bytes < 0 {
		m.end(overMemory(m.limits))
	}
	if n > bytesMany {
		n = bytesMany + (n-bytesMany)/4
	}
	m.spend(L, n/priceBytes)
}

// text charges for a new string of n bytes.
func (m *meter) text(L *lua.LState, n int) { m.use(L, n+stringCost) }

// Costs in bytes: the bytes that are allocated, as TestBytes measures them.
const (
	stringCost   = 32
	tableCost    = 96
	hashCost     = 640  // the first key of a table that was made for one
	lateKeyCost  = 2700 // the first string key of another
	placeCost    = 24   // an element of a table that was made for it
	elementCost  = 64   // an element of any other table
	skipCost     = 40   // an element that is nil before another
	arrayCost    = 512  // the first element of a table that was not made for any
	keyCost      = 200
	closureCost  = 128
	upvalueCost  = 64
	threadCost   = 96 << 10
	innerCost    = 20 << 10 // a thread of pcall
	registerCost = 16
)

// left updates the budget for other runs. A run that needs a new interpreter pays for it.
func (m *meter) left(r *Run, again bool) {
	if !again {
		m.work -= priceInterpreter
	}
	if r.Budget != nil {
		*r.Budget = Budget{Work: max(m.work, 0), Bytes: max(m.bytes, 0)}
	}
}
