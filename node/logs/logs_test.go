package logs

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/node/config"
)

func load(t *testing.T, flags ...string) *config.Config {
	t.Helper()
	cfg, _, err := config.Load(append(flags, "--dir", t.TempDir()), nil, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLogFollowsItsSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	cfg := load(t, "--logfile", path, "--log-format", "json", "--loglevel", "warning")
	log, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not shown")
	log.Warn("first", "why", "a \"reason\"")
	if err := cfg.Set([]config.Pair{{Name: "loglevel", Value: "debug"}}); err != nil {
		t.Fatal(err)
	}
	log.Debug("second")
	lines := strings.Split(strings.TrimSpace(read(t, path)), "\n")
	if len(lines) != 2 {
		t.Fatalf("the file has %q", lines)
	}
	for i, want := range []string{"first", "second"} {
		var line map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &line); err != nil || line["msg"] != want {
			t.Errorf("line %d is %s (%v)", i, lines[i], err)
		}
	}
	if got := string(log.Tail.Lines()); got != read(t, path) {
		t.Errorf("the tail is %q", got)
	}
}

func TestTextIsTheUsualForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := Open(load(t, "--logfile", path))
	if err != nil {
		t.Fatal(err)
	}
	log.Info("hello", "shard", 3)
	if got := read(t, path); !strings.Contains(got, "level=INFO msg=hello shard=3\n") {
		t.Errorf("the line is %q", got)
	}
}

func TestFileThatCannotBeMadeIsToldOf(t *testing.T) {
	if _, err := Open(load(t, "--logfile", filepath.Join(t.TempDir(), "no", "such", "folder"))); err == nil {
		t.Error("there is no error")
	}
}

func TestFileThatWasMovedAwayIsBegunAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	now := time.Unix(0, 0)
	f := &file{path: path, now: func() time.Time { return now }}
	if err := f.open(); err != nil {
		t.Fatal(err)
	}
	say := func(text string) {
		t.Helper()
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	say("a")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	say("b")
	now = now.Add(lookEvery)
	say("c")
	if old, fresh := read(t, path+".1"), read(t, path); old != "ab" || fresh != "c" {
		t.Errorf("the old file has %q, the new one %q", old, fresh)
	}
}

func TestTailKeepsTheLastWholeLines(t *testing.T) {
	tail := &Tail{}
	last := ""
	for i := range 20_000 {
		last = fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", i%50))
		if _, err := io.WriteString(tail, last); err != nil {
			t.Fatal(err)
		}
	}
	got := string(tail.Lines())
	if len(got) > tailBytes || len(got) < tailBytes-100 || !strings.HasPrefix(got, "line ") || !strings.HasSuffix(got, "\n"+last) {
		t.Errorf("%d bytes, from %q to %q", len(got), got[:20], got[len(got)-20:])
	}
	if _, err := io.WriteString(tail, strings.Repeat("y", 3*tailBytes)+"\nend\n"); err != nil {
		t.Fatal(err)
	}
	if got := string(tail.Lines()); got != "end\n" {
		t.Errorf("after one long line: %d bytes", len(got))
	}
}
