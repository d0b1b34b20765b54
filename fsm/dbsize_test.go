package fsm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// DBSIZE counts a key once while the key is renamed, alone or with other reads in a transaction.
func TestDBSizeIsOfOneInstant(t *testing.T) {
	const keys, rounds = 64, 200
	m := newLockedMachine(t)
	for i := range keys {
		m.apply(txnOf(0, "set", fmt.Sprint("a", i), "x"))
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop.Store(true)
	for want, txn := range map[string]Txn{fmt.Sprintf(":%d\r\n", keys): txnOf(0, "dbsize"), fmt.Sprintf("*1\r\n:%d\r\n", keys): inExec(txnOf(0, "dbsize"))} {
		readers.Go(func() {
			for !stop.Load() {
				if got, err := m.Read(t.Context(), &txn, ReadOptions{}); string(got) != want || err != nil {
					t.Errorf("DBSIZE says %q, %v", got, err)
					return
				}
			}
		})
	}
	for round := range rounds {
		from, to := "a", "b"
		if round%2 == 1 {
			from, to = to, from
		}
		for i := range keys {
			m.apply(txnOf(0, "rename", fmt.Sprint(from, i), fmt.Sprint(to, i)))
		}
	}
	m.executed(m.index)
}
