package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// replied is an error reply of a node.
type replied string

func (r replied) Error() string { return string(r) }

// RedisError implements redis.Error.
func (replied) RedisError() {}

func TestMistakesAreSaidWithWhatToDo(t *testing.T) {
	root := newRoot()
	root.SetArgs([]string{"transfer", "0", "b"})
	root.SetOut(io.Discard)
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "clusterctl transfer --help") {
		t.Errorf("an argument too many: %v", err)
	}
	for text, hint := range map[string]bool{"NOAUTH Authentication required.": true, "WRONGPASS invalid": true, "ERR no": false} {
		if got := inWords(replied(text)); strings.Contains(got, "--password") != hint {
			t.Errorf("%q", got)
		}
	}
	if got := inWords(errors.New("NOAUTH is what somebody says")); strings.Contains(got, "--password") {
		t.Errorf("%q", got)
	}
}
