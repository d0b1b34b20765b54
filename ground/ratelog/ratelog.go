// Package ratelog limits the rate of log lines that strangers can cause: anyone who can reach a
// port decides how often there is something to log.
package ratelog

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// Log passes one line a second and counts the others. Its zero value is ready for use.
type Log struct {
	lastSec    atomic.Int64
	suppressed atomic.Int64
}

// Warn logs a warning, or counts it for the next line that is logged.
func (l *Log) Warn(log *slog.Logger, msg string, args ...any) { l.log(log, slog.LevelWarn, msg, args) }

// Error logs an error, or counts it for the next line that is logged.
func (l *Log) Error(log *slog.Logger, msg string, args ...any) {
	l.log(log, slog.LevelError, msg, args)
}

func (l *Log) log(log *slog.Logger, level slog.Level, msg string, args []any) {
	now := time.Now().Unix()
	last := l.lastSec.Load()
	if now == last || !l.lastSec.CompareAndSwap(last, now) {
		l.suppressed.Add(1)
		return
	}
	if n := l.suppressed.Swap(0); n > 0 {
		args = append(args, "more_like_this", n)
	}
	log.Log(context.Background(), level, msg, args...)
}
