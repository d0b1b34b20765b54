package raftio

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// NewLogger lets Raft log through slog. A line that repeats within a second is dropped and counted:
// while a peer is away Raft logs each failed heartbeat, and it logs from its main loop.
func NewLogger(to *slog.Logger, name string) hclog.Logger {
	return &logger{to: to, name: name, seen: &recent{lines: map[string]line{}}}
}

type logger struct {
	to   *slog.Logger
	name string
	args []any
	seen *recent
}

// recent remembers the lines of the last second. Their number is bounded.
type recent struct {
	mu    sync.Mutex // guards lines
	lines map[string]line
}

// line is when a text was last logged, and how often it was dropped since.
type line struct {
	at      time.Time
	dropped int
}

const (
	repeatAfter   = time.Second
	rememberedMax = 256
)

// fresh reports whether a text may be logged, and how often it was dropped before.
func (r *recent) fresh(text string) (dropped int, ok bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.lines[text]
	if known && now.Sub(last.at) < repeatAfter {
		last.dropped++
		r.lines[text] = last
		return 0, false
	}
	if len(r.lines) >= rememberedMax {
		clear(r.lines)
	}
	r.lines[text] = line{at: now}
	return last.dropped, true
}

func levelOf(l hclog.Level) slog.Level {
	switch {
	case l <= hclog.Debug:
		return slog.LevelDebug
	case l == hclog.Info:
		return slog.LevelInfo
	case l == hclog.Warn:
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}

// Log implements hclog.Logger.
func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	to := levelOf(level)
	if !l.to.Enabled(context.Background(), to) {
		return
	}
	dropped, ok := l.seen.fresh(msg)
	if !ok {
		return
	}
	all := append([]any{"from", l.name}, l.args...)
	for _, a := range args {
		// hclog's formatted values are meant for its own printer.
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			a = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
		all = append(all, a)
	}
	if dropped > 0 {
		all = append(all, "more_like_this", dropped)
	}
	l.to.Log(context.Background(), to, msg, all...)
}

// Trace implements hclog.Logger.
func (l *logger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }

// Debug implements hclog.Logger.
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements hclog.Logger.
func (l *logger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements hclog.Logger.
func (l *logger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements hclog.Logger.
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *logger) enabled(level slog.Level) bool { return l.to.Enabled(context.Background(), level) }

// IsTrace implements hclog.Logger.
func (l *logger) IsTrace() bool { return false }

// IsDebug implements hclog.Logger.
func (l *logger) IsDebug() bool { return l.enabled(slog.LevelDebug) }

// IsInfo implements hclog.Logger.
func (l *logger) IsInfo() bool { return l.enabled(slog.LevelInfo) }

// IsWarn implements hclog.Logger.
func (l *logger) IsWarn() bool { return l.enabled(slog.LevelWarn) }

// IsError implements hclog.Logger.
func (l *logger) IsError() bool { return l.enabled(slog.LevelError) }

// ImpliedArgs implements hclog.Logger.
func (l *logger) ImpliedArgs() []any { return l.args }

// With implements hclog.Logger.
func (l *logger) With(args ...any) hclog.Logger {
	n := *l
	n.args = append(append([]any(nil), l.args...), args...)
	return &n
}

// Name implements hclog.Logger.
func (l *logger) Name() string { return l.name }

// Named implements hclog.Logger.
func (l *logger) Named(name string) hclog.Logger { return l.ResetNamed(l.name + "." + name) }

// ResetNamed implements hclog.Logger.
func (l *logger) ResetNamed(name string) hclog.Logger {
	n := *l
	n.name = name
	return &n
}

// SetLevel implements hclog.Logger; slog's handler decides.
func (l *logger) SetLevel(hclog.Level) {}

// GetLevel implements hclog.Logger.
func (l *logger) GetLevel() hclog.Level { return hclog.NoLevel }

// StandardLogger implements hclog.Logger.
func (l *logger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(l.to.Handler(), slog.LevelInfo)
}

// StandardWriter implements hclog.Logger.
func (l *logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return l.StandardLogger(nil).Writer()
}
