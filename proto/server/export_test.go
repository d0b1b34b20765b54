package server

import (
	"time"

	"lockstep/proto/resp"
)

// Leaving reports whether Close has begun to send clients away.
func (s *Server) Leaving() bool { return s.leaving.Load() }

// SetLeaveTime sets how long they have.
func (s *Server) SetLeaveTime(d time.Duration) { s.leaveTime = d }

// Active is the number of batches being answered.
func (s *Server) Active() int { return int(s.active.Load()) }

// Limits are those of clients that have subscribed to something, or of others.
func (s *Server) Limits(subscribed bool) resp.Limits { return s.limits(subscribed) }

// Parse takes commands apart: how many they are, and for how many arguments there is
// room then.
func Parse(data []byte) (commands, room int) {
	batch, arena := parse(data, nil, nil)
	return len(batch), cap(arena)
}
