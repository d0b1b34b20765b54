package sight

import (
	"fmt"
	"strconv"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestLocksAreSeen: the metrics on lock slots change while commands wait for a slot, and one names
// that slot.
func TestLocksAreSeen(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	n := &seen{proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(port)}}), fmt.Sprintf("http://127.0.0.1:%d", port)}
	before := n.scrape(t)
	if before.sum("lockstep_lock_waits_total") != 0 || before.sum("lockstep_lock_wait_seconds") != 0 {
		t.Error("a node at rest has waits")
	}
	end, ended := make(chan struct{}), make(chan struct{})
	const callers = 4
	for range callers {
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				select {
				case <-end:
					return
				default:
					_, _ = proc.Ask(n.Addr(), "EVAL", "#!lua flags=allow-key-locking\nfor i=1,3e5 do end return redis.call('INCR',KEYS[1])", "1", "busy")
				}
			}
		}()
	}
	defer func() {
		close(end)
		for range callers {
			<-ended
		}
	}()
	grows(t, n, before, 5, "lockstep_lock_waits_total", "shard=0")
	grows(t, n, before, 5, "lockstep_lock_wait_seconds")
	grows(t, n, before, 1e-3, "lockstep_lock_wait_seconds_total", "shard=0")
	for _, name := range []string{"lockstep_lock_waiting_tickets", "lockstep_apply_queue_entries", "lockstep_permits_in_use", "lockstep_outstanding_txns"} {
		grows(t, n, page{}, 1, name, "shard=0")
	}
	slots := n.scrape(t)["lockstep_lock_slot_waits_total"]
	if len(slots.GetMetric()) != 1 || slots.Metric[0].GetCounter().GetValue() < 5 {
		t.Errorf("one lock slot is waited for, and these are told: %v", slots)
	}
}
