package membership

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/cluster/meta"
)

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// script is a group and a meta client that return what the test sets, and record the calls.
type script struct {
	view *meta.View
	// newest is the newest view of the meta group; nil means view.
	newest   *meta.View
	leads    bool
	servers  []Server
	match    map[meta.NodeID]uint64
	err      error
	changes  []Action
	commands []meta.Command
	// died holds the servers that no longer answer, and since when.
	died map[meta.NodeID]time.Time
	// confirming, if set, is called while leadership is proved.
	confirming func()
}

func (s *script) View() *meta.View { return s.view }
func (s *script) CatchUp(context.Context) (*meta.View, error) {
	if s.newest != nil {
		return s.newest, s.err
	}
	return s.view, s.err
}

func (s *script) Do(_ context.Context, c meta.Command) (meta.Result, error) {
	s.commands = append(s.commands, c)
	return meta.Result{}, s.err
}
func (s *script) Leads() bool                 { return s.leads }
func (s *script) Servers() ([]Server, uint64) { return s.servers, 7 }
func (s *script) LastIndex() uint64           { return 10000 }
func (s *script) Term() uint64                { return 1 }
func (s *script) Confirm(context.Context) error {
	if s.confirming != nil {
		s.confirming()
	}
	return s.err
}
func (s *script) Progress(id meta.NodeID) Progress {
	if at, died := s.died[id]; died {
		return Progress{Match: s.match[id], Acked: at}
	}
	return Progress{Match: s.match[id], Acked: time.Now()}
}
func (s *script) Change(_ context.Context, a Action, index uint64) error {
	if index != 7 {
		return errors.New("wrong index")
	}
	s.changes = append(s.changes, a)
	return s.err
}

func scripted(s *script, group uint32) *Reconciler {
	return NewReconciler(ReconcilerConfig{GroupID: group, Group: s, Self: "a", Meta: s, Log: quietLog()})
}

// A leader with an old view neither adds nor promotes a node that is no longer wanted: that node
// may be deleting its data.
func TestAnOldViewBringsNobodyIn(t *testing.T) {
	for what, servers := range map[string][]Server{
		"added":    {{"a", "a", true}},
		"promoted": {{"a", "a", true}, {"b", "b", false}},
	} {
		s := &script{view: viewOf("a b"), newest: viewOf("a"), leads: true, servers: servers, match: map[meta.NodeID]uint64{"b": 10000}}
		r := scripted(s, 0)
		for range steadyLooks + 1 {
			r.step(t.Context())
		}
		for _, a := range s.changes {
			if a.Verb == Add || a.Verb == Promote {
				t.Errorf("%s: %v", what, a)
			}
		}
		s.newest = nil
		r.step(t.Context())
		if len(s.changes) != 1 {
			t.Errorf("%s: with a view of now: %v", what, s.changes)
		}
	}
}

// Nor does it give a node an old address, or remove a replica that went and came again.
func TestAnOldViewSendsNobodyAway(t *testing.T) {
	for what, view := range map[string]*meta.View{"moved": viewOf("a b@before"), "went": viewOf("a b:going")} {
		s := &script{view: view, newest: viewOf("a b"), leads: true, servers: []Server{{"a", "a", true}, {"b", "b", true}}}
		r := scripted(s, 0)
		r.step(t.Context())
		if len(s.changes) > 0 {
			t.Errorf("%s: %v", what, s.changes)
		}
		s.newest = nil
		r.step(t.Context())
		if len(s.changes) != 1 {
			t.Errorf("%s, and that is how it is: %v", what, s.changes)
		}
	}
}

// A node that dies right after a removal was accepted looks alive for a while. The leader must not
// rely on its vote: without that vote the group cannot lose the voter that should go.
func TestWhoHasJustDiedIsNotCountedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			view: viewOf("a b c:going"), leads: true, servers: []Server{{"a", "a", true}, {"b", "b", true}, {"c", "c", true}},
			died: map[meta.NodeID]time.Time{"b": time.Now()},
		}
		r := scripted(s, 0)
		for range 5 {
			sleep(t.Context(), r.step(t.Context()))
		}
		if len(s.changes) > 0 || !strings.Contains(r.Waits(), "without c, 1 of 2 voters would be alive") {
			t.Fatalf("%v, waits: %q", s.changes, r.Waits())
		}
		delete(s.died, "b")
		sleep(t.Context(), r.step(t.Context()))
		if len(s.changes) != 1 || s.changes[0].Verb != Remove || s.changes[0].ID != "c" {
			t.Errorf("when b is back: %v", s.changes)
		}
	})
}

// The same holds if only the newest view shows which node should go.
func TestWhoHasJustDiedIsNotCountedOnByAnOldView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			view: viewOf("a b c d"), newest: viewOf("a b c:going"), leads: true, servers: []Server{{"a", "a", true}, {"b", "b", true}, {"c", "c", true}},
			died: map[meta.NodeID]time.Time{"b": time.Now()},
		}
		r := scripted(s, 0)
		r.step(t.Context())
		if len(s.changes) > 0 || !strings.Contains(r.Waits(), "without c, 1 of 2 voters would be alive") {
			t.Fatalf("%v, waits: %q", s.changes, r.Waits())
		}
	})
}

// Another leader may undo a removal that is not committed, and this node may then lead again. The
// node that was to be removed still votes, and must not be told to delete its data.
func TestWhoWasTakenBackIsNotLetGo(t *testing.T) {
	both := []Server{{"a", "a", true}, {"b", "b", true}}
	s := &script{view: viewOf("a b:going"), leads: true, servers: both[:1]}
	s.confirming = func() { s.servers = both }
	r := scripted(s, 0)
	r.step(t.Context())
	if len(s.commands) > 0 {
		t.Fatalf("%v", s.commands)
	}
	s.confirming, s.servers = nil, both[:1]
	r.step(t.Context())
	if _, ok := s.commands[0].(*meta.LetGo); !ok {
		t.Errorf("%v", s.commands)
	}
}

func TestOnlyALeaderChangesMembers(t *testing.T) {
	s := &script{view: viewOf("a b"), servers: []Server{{"a", "a", true}}}
	r := scripted(s, 0)
	r.step(t.Context())
	if len(s.changes) != 0 {
		t.Fatal("a follower changed the group")
	}
	s.leads = true
	r.step(t.Context())
	if len(s.changes) != 1 || s.changes[0].Verb != Add {
		t.Fatalf("%v", s.changes)
	}
}

func TestANonvoterVotesOnlyAfterItWasCloseForAWhile(t *testing.T) {
	s := &script{view: viewOf("a b"), leads: true, servers: []Server{{"a", "a", true}, {"b", "b", false}}, match: map[meta.NodeID]uint64{}}
	r := scripted(s, 0)
	far, near := s.LastIndex()-closeEntries-1, s.LastIndex()-closeEntries
	for _, match := range []uint64{far, near, near, far, near, near} {
		s.match["b"] = match
		if r.step(t.Context()) != busyPause || r.Waits() != "b is catching up" {
			t.Fatalf("waits: %q", r.Waits())
		}
	}
	if len(s.changes) != 0 {
		t.Fatalf("%v", s.changes)
	}
	r.step(t.Context())
	if len(s.changes) != 1 || s.changes[0].Verb != Promote || r.Waits() != "" {
		t.Fatalf("%v, waits: %q", s.changes, r.Waits())
	}
}

func TestWhatIsReportedToTheMetaGroup(t *testing.T) {
	voters := []Server{{"a", "a", true}, {"b", "b", true}}
	for _, c := range []struct {
		name, view string
		group      uint32
		want       meta.Command
	}{
		{"nothing new", "a b", meta.GroupID, nil},
		{"a joining node votes", "a b:joining", meta.GroupID, &meta.MarkMember{ID: "b"}},
		{"only the meta group tells", "a b:joining", 0, nil},
		{"a leaving node is gone", "a b c:leaving", 0, &meta.Detach{ID: "c", Group: 0}},
		{"which is told once", "a b c:left", 0, nil},
		{"the meta group is the last", "a b c:leaving", meta.GroupID, nil},
		{"when all shards have let go", "a b c:left", meta.GroupID, &meta.Detach{ID: "c", Group: meta.GroupID}},
	} {
		s := &script{view: viewOf(c.view), leads: true, servers: voters}
		scripted(s, c.group).step(t.Context())
		switch {
		case c.want == nil && len(s.commands) == 0:
		case c.want == nil || len(s.commands) != 1:
			t.Errorf("%s: %v", c.name, s.commands)
		default:
			if got := s.commands[0]; !sameCommand(got, c.want) {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	}
}

func sameCommand(a, b meta.Command) bool {
	switch a := a.(type) {
	case *meta.MarkMember:
		b, ok := b.(*meta.MarkMember)
		return ok && *a == *b
	case *meta.Detach:
		b, ok := b.(*meta.Detach)
		return ok && *a == *b
	}
	return false
}

func TestFailuresAreRepeatedEverMoreSlowly(t *testing.T) {
	s := &script{view: viewOf("a b"), leads: true, servers: []Server{{"a", "a", true}}, err: errors.New("no quorum")}
	r := scripted(s, 0)
	last := time.Duration(0)
	for range 20 {
		pause := r.step(t.Context())
		if pause < last || pause > retryMax {
			t.Fatalf("pause %v after %v", pause, last)
		}
		last = pause
	}
	if last != retryMax {
		t.Fatalf("pause %v", last)
	}
	s.err = nil
	if pause := r.step(t.Context()); pause != busyPause {
		t.Fatalf("pause %v after success", pause)
	}
}
