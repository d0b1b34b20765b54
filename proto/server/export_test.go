package server

import "time"

// Leaving tells whether Close has begun to send clients away.
func (s *Server) Leaving() bool { return s.leaving.Load() }

// SetLeaveTime sets how long they have.
func (s *Server) SetLeaveTime(d time.Duration) { s.leaveTime = d }

// Active is the number of batches being answered.
func (s *Server) Active() int { return int(s.active.Load()) }
