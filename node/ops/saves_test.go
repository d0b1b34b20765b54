package ops

import (
	"errors"
	"testing"

	"lockstep/proto/admin"
)

// INFO shows a snapshot that is being written, whatever caused it. A client's save does not wait
// for a snapshot in the background.
func TestSavesUnderWay(t *testing.T) {
	var s Saves
	busy := func(what string, want bool) {
		t.Helper()
		if v := s.State(); v.Busy != want || (v.RunningSec >= 0) != want {
			t.Errorf("%s: %+v", what, v)
		}
	}
	busy("at first", false)
	s.Writing(1)
	busy("a group writes", true)
	end, err := s.start(5, true)
	if err != nil {
		t.Fatal(err)
	}
	s.Writing(-1)
	busy("a client's save", true)
	for _, background := range []bool{true, false} {
		if _, err := s.start(6, background); !errors.Is(err, admin.ErrSaving) {
			t.Errorf("another one beside it: %v", err)
		}
	}
	end(nil)
	busy("it has ended", false)
	end, err = s.start(9, false)
	if err != nil {
		t.Fatal(err)
	}
	end(errors.New("disk full"))
	if v := s.State(); v.Done != 1 || v.Status != "err" || v.Txns != 5 || v.Busy {
		t.Errorf("%+v", v)
	}
}
