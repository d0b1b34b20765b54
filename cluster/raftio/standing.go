package raftio

import "time"

// standing holds a node back that had better not lead, as long as another one may: it asks for no pre-votes until a
// healthy node would have been elected, twice. Then it stands like any other, for a group without a leader serves
// nobody. An order to lead passes.
type standing struct {
	// why says why the node should not lead, or nil if it may.
	why func() error
	// opened is when this replica was opened: before, nobody could be heard.
	opened, patience time.Duration
}

func newStanding(cfg *TransportConfig) standing {
	// A follower stands between one and two heartbeat timeouts after it last heard the leader, and a candidate that
	// was not elected between one and two election timeouts later.
	return standing{why: cfg.StandsBack, opened: Now(), patience: 2*cfg.Heartbeat + 2*cfg.Election}
}

// mayStand says why the node must not ask for votes now, where a leader was heard last at a time (Now), or nil if it
// may.
func (s *standing) mayStand(heardAt time.Duration) error {
	if s.why == nil || Now()-max(heardAt, s.opened) >= s.patience {
		return nil
	}
	return s.why()
}
