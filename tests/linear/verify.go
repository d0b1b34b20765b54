package linear

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// searchPatience bounds the search for one register's order.
const searchPatience = 20 * time.Second

// verify runs all checkers over the history, with the values at the end, and compares the replicas.
// If something is wrong, it keeps the history.
func verify(t *testing.T, w *workload) {
	t.Helper()
	ops := w.history.Ops()
	for _, e := range w.errors {
		t.Errorf("an error that no client should see: %s", e)
	}
	v := checkRegisters(ops, searchPatience)
	t.Log(v)
	if len(v.unchecked) > 0 {
		t.Logf("the search for an order took too long for %v", v.unchecked)
	}
	if v.keys > 0 && len(v.unchecked) > v.keys/2 {
		t.Error("most registers are unchecked: the history proves nothing")
	}
	if v.wrong != "" {
		t.Errorf("%s is not linearizable", v.wrong)
	}
	for _, err := range checkFinals(t, w.cluster.Nodes[0].Addr(), ops, w.evicts) {
		t.Error(err)
	}
	if _, err := w.cluster.SameState(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		keep(t, w.history, v)
	}
}

// keep saves a history, and porcupine's picture of what is wrong in it.
func keep(t *testing.T, h *History, v *verdict) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockstep-history-")
	if err == nil {
		err = h.Save(dir)
	}
	if err == nil && v.wrong != "" {
		err = porcupine.VisualizePath(registerModel, v.info, filepath.Join(dir, "wrong.html"))
	}
	t.Logf("the history is kept in %s (%v)", dir, err)
}
