package membership

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
)

// reader is a script whose CatchUp makes the newest view the current one.
type reader struct{ *script }

func (r reader) CatchUp(ctx context.Context) (*meta.View, error) {
	v, err := r.script.CatchUp(ctx)
	r.view = v
	return v, err
}

// An order is decided by the newest view, even on a leader that has just been started.
func TestAnOrderRestsOnNoOldView(t *testing.T) {
	for request, orderOf := range map[string]func(*Registrar) leaderrpc.Handler{
		`{"node":"b","force":true}`:       func(r *Registrar) leaderrpc.Handler { return r.remove },
		`{"node":"a","in_favour_of":"b"}`: func(r *Registrar) leaderrpc.Handler { return r.replace },
		`{"node":"b","drain":true}`:       func(r *Registrar) leaderrpc.Handler { return r.setRole },
	} {
		s := &script{view: viewOf("a"), newest: viewOf("a b"), leads: true, servers: []Server{{"a", "a", true}, {"b", "b", true}}}
		r := &Registrar{RegistrarConfig{Self: "a", Meta: reader{s}, Group: s}}
		if _, err := orderOf(r)(t.Context(), meta.GroupID, []byte(request)); err != nil || len(s.commands) != 1 {
			t.Errorf("%s: %v, %v", request, err, s.commands)
		}
	}
}

// unheard is a script whose servers acknowledge nothing until after a number of looks; 0 means
// never.
type unheard struct {
	*script
	looks int
}

func (u *unheard) Progress(meta.NodeID) Progress {
	if u.looks--; u.looks == 0 {
		u.looks++
		return Progress{Acked: time.Now()}
	}
	return Progress{}
}

// A leader that has just been elected has had no answer of any node yet. It gives each live node
// the time to answer before it lets another take that node's place.
func TestWhoWasNotHeardYetIsNotReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{view: viewOf("a b"), leads: true, servers: []Server{{"a", "a", true}, {"b", "b", true}}}
		for looks, want := range map[int]error{0: nil, 3: ErrStillAlive} {
			r := &Registrar{RegistrarConfig{Self: "a", Meta: s, Group: &unheard{s, looks}}}
			if err := r.mayReplace(t.Context(), meta.Node{ID: "b2", Name: "b"}); !errors.Is(err, want) {
				t.Errorf("heard at look %d: %v", looks, err)
			}
		}
	})
}
