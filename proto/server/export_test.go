package server

import (
	"time"

	"lockstep/proto/resp"
)

// Draining reports whether Close has begun to drain the clients.
func (s *Server) Draining() bool { return s.draining.Load() }

// SetDrainTime sets how long clients have to leave.
func (s *Server) SetDrainTime(d time.Duration) { s.drainTime = d }

// Active is the number of batches being answered.
func (s *Server) Active() int { return int(s.active.Load()) }

// Limits are the limits of clients with subscriptions, or of others.
func (s *Server) Limits(subscribed bool) resp.Limits { return s.limits(subscribed) }

// Parse splits data into commands. It returns how many there are, and for how many arguments there
// is room afterwards.
func Parse(data []byte) (commands, room int) {
	batch, arena := parse(data, nil, nil)
	return len(batch), cap(arena)
}
