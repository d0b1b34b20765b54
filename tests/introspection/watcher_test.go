package introspection

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/proc"
)

// TestTheWatcherOfSystemCallsMayBeLate looks at the threads of a node: it has begun
// twice (cmd/lockstepd/watcher_linux.go), as the same process, under its own name and
// with its own arguments, and all but the first thread may be woken late.
func TestTheWatcherOfSystemCallsMayBeLate(t *testing.T) {
	proc.NeedProcesses(t)
	if runtime.GOOS != "linux" {
		proc.Skip(t, "threads are woken late on Linux alone")
	}
	n := proc.NewLone(t)
	of := filepath.Join("/proc", strconv.Itoa(n.Pid()))
	threads, err := os.ReadDir(filepath.Join(of, "task"))
	if err != nil {
		t.Fatal(err)
	}
	first, others := "", []string(nil)
	for _, thread := range threads {
		slack, err := os.ReadFile(filepath.Join("/proc", thread.Name(), "timerslack_ns"))
		if os.IsPermission(err) {
			proc.Skip(t, "only root may see how late another process's threads may be woken")
		}
		switch late := strings.TrimSpace(string(slack)); {
		case err != nil: // it may have ended
		case thread.Name() == strconv.Itoa(n.Pid()):
			first = late
		default:
			others = append(others, late)
		}
	}
	if first != "50000" || !slices.Contains(others, "300000") {
		t.Errorf("the first thread may be late by %s ns, the others by %v", first, others)
	}
	name, err := os.ReadFile(filepath.Join(of, "comm"))
	if err != nil || strings.TrimSpace(string(name)) != filepath.Base(proc.Lockstepd(t)) {
		t.Errorf("it is called %q, %v", name, err)
	}
	words, err := os.ReadFile(filepath.Join(of, "cmdline"))
	if port := fmt.Appendf(nil, "\x00--port\x00%d\x00", n.Port); err != nil || bytes.Count(words, port) != 1 {
		t.Errorf("its arguments are %q, %v", words, err)
	}
}

// TestANodeThatCannotBeginAgainLacksNothing starts a node whose file is gone, so that it
// cannot begin twice: it serves, and may have as many files open as the others.
func TestANodeThatCannotBeginAgainLacksNothing(t *testing.T) {
	proc.NeedProcesses(t)
	if runtime.GOOS != "linux" {
		proc.Skip(t, "a program begins again on Linux alone")
	}
	n := proc.NewNode(t, proc.Options{Before: func(n *proc.Node) {
		program := filepath.Join(n.Dir, "program")
		script := fmt.Appendf(nil, "#!/bin/sh\nulimit -S -n 200 && cp %s %[2]s && exec 3<%[2]s && rm %[2]s && exec /proc/self/fd/3 \"$@\"\n", proc.Lockstepd(t), program)
		if err := os.WriteFile(program+".sh", script, 0o700); err != nil {
			t.Fatal(err)
		}
		n.Become(program + ".sh")
	}})
	of := filepath.Join("/proc", strconv.Itoa(n.Pid()))
	program, err := os.Readlink(filepath.Join(of, "exe"))
	if err != nil || !strings.HasSuffix(program, "(deleted)") {
		t.Fatalf("its file is %q, %v", program, err)
	}
	limits, err := os.ReadFile(filepath.Join(of, "limits"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if files, is := strings.CutPrefix(line, "Max open files"); is && strings.Fields(files)[0] == "200" {
			t.Errorf("soft and hard limit of open files: %s", files)
		}
	}
}
