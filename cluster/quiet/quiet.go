// Package quiet limits the rate of log lines that strangers can cause: anyone who can
// reach a port decides how often there is something to log.
package quiet

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Log lets one line a second through and counts the rest. Its zero value is
// ready.
type Log struct {
	lastSec    atomic.Int64
	suppressed atomic.Int64
}

// Warn logs a warning, or counts it for the next line that is logged.
func (q *Log) Warn(log *slog.Logger, msg string, args ...any) { q.log(log, slog.LevelWarn, msg, args) }

// Error logs an error, or counts it for the next line that is logged.
func (q *Log) Error(log *slog.Logger, msg string, args ...any) {
	q.log(log, slog.LevelError, msg, args)
}

func (q *Log) log(log *slog.Logger, level slog.Level, msg string, args []any) {
	now := time.Now().Unix()
	last := q.lastSec.Load()
	if now == last || !q.lastSec.CompareAndSwap(last, now) {
		q.suppressed.Add(1)
		return
	}
	if n := q.suppressed.Swap(0); n > 0 {
		args = append(args, "more_like_this", n)
	}
	log.Log(context.Background(), level, msg, args...)
}
