package client_test

import (
	"testing"

	"lockstep/tests/kit/prototest"
)

// TestQueueingWithoutMemory: while the node's memory is full, MULTI refuses commands that need
// memory, and then EXEC fails.
func TestQueueingWithoutMemory(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	n.Full.Store(true)
	const oom = "-OOM command not allowed when used memory > 'maxmemory'."
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"MULTI"}, "+OK"}, {[]string{"SET", "k", "v"}, oom}, {[]string{"GET", "k"}, "+QUEUED"},
		{[]string{"EXEC"}, "-EXECABORT Transaction discarded because of previous errors."},
		{[]string{"MULTI"}, "+OK"}, {[]string{"DEL", "k"}, "+QUEUED"}, {[]string{"EXEC"}, "*1\n  :0"},
	} {
		if got := prototest.Do(t, c, step.args...); got != step.want {
			t.Errorf("%s: %s, want %s", step.args, got, step.want)
		}
	}
}
