package demo

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lockstep/node/status"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/proc"
)

// stage is a demo with its screen.
type stage struct {
	*screen
	t *testing.T
}

// press presses a key.
func (s *stage) press(key string) {
	s.t.Helper()
	_, cmd := s.Update(tea.KeyPressMsg{Code: rune(key[0]), Text: key})
	if cmd != nil {
		cmd()
	}
}

// sees waits until the screen shows all the words.
func (s *stage) sees(words ...string) {
	s.t.Helper()
	until(s.t, strings.Join(words, " and "), func() bool {
		s.demo.Poll(s.ctx)
		view := s.View().Content
		for _, word := range words {
			if !strings.Contains(view, word) {
				return false
			}
		}
		return true
	})
}

// leader returns the number of the leading node, from 1.
func (s *stage) leader() string {
	s.demo.mu.Lock()
	defer s.demo.mu.Unlock()
	return strings.TrimPrefix(s.demo.leader, "n")
}

// goesOn waits until that many more writes are acknowledged.
func (s *stage) goesOn(writes int64) {
	s.t.Helper()
	want := s.demo.Load.Acknowledged.Load() + writes
	until(s.t, "writes go on", func() bool { return s.demo.Load.Acknowledged.Load() >= want })
}

// The keys of the demo do to real nodes what the screen says, and no acknowledged write is lost.
func TestRealNodesAreBrokenAndNothingIsLost(t *testing.T) {
	proc.NeedProcesses(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const nodes = 3
	// The ports of their pages could also be given to other tests.
	d, err := Start(ctx, Options{Nodes: nodes, Port: ports.Row(t, nodes), Binary: proc.Lockstepd(t), Args: []string{"--admin-port", "0"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := &stage{&screen{ctx: ctx, demo: d, at: time.Now()}, t}
	end := d.Load.start(ctx)
	s.sees("leader", "follower", "w write load (off)")
	s.press("w")
	s.sees("w write load (on)", "write load on")
	s.goesOn(100)

	killed := s.leader()
	s.press(killed)
	s.sees("n"+killed+" killed with SIGKILL", "after the kill")
	if next := s.leader(); next == killed || d.Procs[killed[0]-'1'].Running() {
		t.Errorf("n%s was killed, and n%s leads", killed, next)
	}
	s.goesOn(100)
	s.press(killed)
	s.sees("n" + killed + " started again")
	until(t, "all are well", func() bool { c := d.Poll(ctx); return c != nil && c.Health == status.Healthy && len(c.Nodes) == nodes })

	moved := s.leader()
	until(t, "another leads", func() bool {
		s.press("l")
		d.Poll(ctx)
		return s.leader() != moved
	})
	s.goesOn(100)
	s.press("w")
	s.sees("w write load (off)", "write load off")
	if _, cmd := s.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil || cmd() != (tea.QuitMsg{}) {
		t.Error("q does not end it")
	}
	end()
	verdict, err := d.FinalCheck(ctx)
	if err != nil || !strings.HasPrefix(verdict, "acknowledged writes lost: 0 of ") || d.Load.Errors.Load() != 0 {
		t.Errorf("%q, %v; %d errors", verdict, err, d.Load.Errors.Load())
	}

	d.Close()
	if _, err := os.Stat(d.Dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", d.Dir, err)
	}
	for _, p := range d.Procs {
		if p.Running() {
			t.Errorf("%s runs", p.Name)
		}
	}
}

// If a port is in use, or the folder has the data of more nodes, the demo reports that before it
// starts anything.
func TestWhatIsInTheWayIsSaid(t *testing.T) {
	port := ports.Row(t, 3)
	for _, taken := range []int{port + 2, port + 1 + peerPortDistance} {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(taken))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Start(t.Context(), Options{Nodes: 3, Port: port, Binary: "/no/such/program"})
		if err == nil || err.Error() != "port "+strconv.Itoa(taken)+" is taken by another program; choose other ports with --port" {
			t.Error(err)
		}
		l.Close()
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "n4"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Nodes: 3, Port: port, Keep: dir, Binary: "/no/such/program"}); err == nil || !strings.Contains(err.Error(), "give --nodes 4 or more") {
		t.Error(err)
	}
	for _, nodes := range []int{0, nodesMax + 1} {
		if _, err := Start(t.Context(), Options{Nodes: nodes, Port: port}); err == nil || !strings.Contains(err.Error(), "--nodes is 1 to 9") {
			t.Error(err)
		}
	}
}
