package client

import (
	"testing"

	"lockstep/engine/command"
)

func TestRowsOfTheNodeAndHandlersMatchOneToOne(t *testing.T) {
	for _, spec := range command.All() {
		for _, s := range append([]*command.Spec{spec}, spec.Sub...) {
			there := handlers[s.Number()] != nil
			switch {
			case s.Scope != command.ScopeNode:
				if s.Run == nil && len(s.Sub) == 0 {
					t.Errorf("%s: runs nowhere", s.Name)
				}
				if there {
					t.Errorf("%s: a handler for a row that needs none", s.Name)
				}
			// A container by itself runs only if its arity lets it.
			case !there && s != execSpec && (len(s.Sub) == 0 || s.CheckArity(1)):
				t.Errorf("%s: a row without a handler", s.Name)
			}
		}
	}
}
