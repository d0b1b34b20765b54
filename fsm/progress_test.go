package fsm

import (
	"context"
	"testing"
	"time"
)

// WaitExecuted waits until Executed has reached index.
func (m *Machine) WaitExecuted(ctx context.Context, index uint64) error {
	return m.progress.wait(ctx, index)
}

// Reads ask for the queued index while entries begin and end. That must not wait for anything.
func TestQueuedWaitsForNobody(t *testing.T) {
	m := &Machine{}
	p := &m.progress
	e := p.openEntry(7, 100)
	p.mu.Lock()
	got := make(chan uint64, 1)
	go func() { got <- m.Queued() }()
	select {
	case queued := <-got:
		if queued != 7 || m.Executed() != 0 {
			t.Errorf("queued %d, executed %d", queued, m.Executed())
		}
	case <-time.After(time.Minute):
		t.Error("it waits for the lock")
	}
	p.mu.Unlock()
	p.done(e, 1)
	if m.Executed() != 7 {
		t.Errorf("executed %d", m.Executed())
	}
	p.reset(12)
	if m.Queued() != 12 || m.Executed() != 12 {
		t.Errorf("after a snapshot: queued %d, executed %d", m.Queued(), m.Executed())
	}
}
