package ratelog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestAFloodIsOneLineAndACount(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var l Log
	for range 1000 {
		l.Warn(log, "knock")
	}
	if n := strings.Count(out.String(), "knock"); n < 1 || n > 10 {
		t.Errorf("%d lines", n)
	}
	l.lastSec.Store(1)
	l.Warn(log, "knock")
	if !strings.Contains(out.String(), "more_like_this=") {
		t.Error(out.String())
	}
}
