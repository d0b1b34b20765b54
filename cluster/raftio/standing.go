package raftio

import "time"

// standing keeps a node that should not lead from asking for pre-votes, until a healthy
// node would have been elected, twice. Then it stands like any other node, because a
// group without a leader serves no client. An order to lead is always obeyed.
type standing struct {
	// why returns the reason why the node should not lead, or nil if it may.
	why func() error
	// opened is when this replica was opened: before that it could not hear a leader.
	opened, patience time.Duration
}

func newStanding(cfg *TransportConfig) standing {
	// A follower stands between one and two heartbeat timeouts after it last heard the
	// leader. A candidate that was not elected stands again between one and two election
	// timeouts later.
	return standing{why: cfg.StandsBack, opened: Now(), patience: 2*cfg.Heartbeat + 2*cfg.Election}
}

// mayStand says why the node must not ask for votes now, or returns nil if it may.
// heardAt is when a leader was last heard (Now).
func (s *standing) mayStand(heardAt time.Duration) error {
	if s.why == nil || Now()-max(heardAt, s.opened) >= s.patience {
		return nil
	}
	return s.why()
}
