package raftio

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// The progress of a snapshot is reported while it is sent, and its receiver for a while afterwards.
func TestASnapshotOnItsWayIsToldOf(t *testing.T) {
	trans := &Transport{}
	says := func(sent, size int64, lately ...raft.ServerID) {
		t.Helper()
		if s, n := trans.Sending("b"); s != sent || n != size {
			t.Errorf("%d of %d bytes, not %d of %d", s, n, sent, size)
		}
		if ids := trans.Installing(time.Hour); !slices.Equal(ids, lately) {
			t.Errorf("lately to %v, not %v", ids, lately)
		}
	}
	says(0, 0)
	one := trans.installs.begin("b", 10, strings.NewReader("0123456789"))
	says(0, 10, "b")
	if _, err := io.ReadFull(one, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	says(4, 10, "b")
	again := trans.installs.begin("b", 3, strings.NewReader("012"))
	one.end()
	says(0, 3, "b")
	again.end()
	says(0, 0, "b")
	if ids := trans.Installing(-1); len(ids) > 0 {
		t.Errorf("still to %v", ids)
	}
}
