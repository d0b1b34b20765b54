package raftio

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestRepeatedLinesAreDropped(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(slog.New(slog.NewTextHandler(&out, nil)), "raft.3")
	for range 1000 {
		log.Error("failed to heartbeat to", "peer", "b")
	}
	log.Warn("another", "servers", hclog.Fmt("%+v", []int{1, 2}))
	log.Debug("not asked for")
	got := out.String()
	if strings.Count(got, "\n") != 2 || !strings.Contains(got, "from=raft.3 peer=b") || !strings.Contains(got, `servers="[1 2]"`) {
		t.Error(got)
	}
}
