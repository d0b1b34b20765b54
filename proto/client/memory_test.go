package client_test

import (
	"testing"

	"lockstep/tests/kit/prototest"
)

// TestQueueingWithoutMemory expects MULTI to refuse what needs memory, and EXEC
// with it, while the node's memory is full.
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
