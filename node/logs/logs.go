// Package logs makes a node's log: lines of text or of JSON (log-format), to standard error or to a
// file (logfile), from a level on (loglevel).
//
// A log rotator may move the file away. A line that is written a second later or more finds it gone
// and creates a new file of the same name, as redis-server does. The end of the log is also kept in
// memory, for operators that cannot reach the file.
package logs

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"lockstep/node/config"
)

// Log is a logger together with the end of its output.
type Log struct {
	*slog.Logger
	Tail *Tail
}

// Open makes the log according to the settings. Its level follows CONFIG SET.
func Open(cfg *config.Config) (*Log, error) {
	s := cfg.Current()
	var out io.Writer = os.Stderr
	if s.LogFile != "" {
		f := &file{path: s.LogFile, now: time.Now}
		if err := f.open(); err != nil {
			return nil, fmt.Errorf("logfile: %w", err)
		}
		out = f
	}
	tail := &Tail{}
	level := &slog.LevelVar{}
	level.Set(levelOf(s.LogLevel))
	cfg.OnChange("loglevel", func(s *config.Settings) { level.Set(levelOf(s.LogLevel)) })
	return &Log{slog.New(handler(io.MultiWriter(tail, out), s.LogFormat, level)), tail}, nil
}

func handler(out io.Writer, format config.LogFormat, level slog.Leveler) slog.Handler {
	opt := &slog.HandlerOptions{Level: level}
	if format == config.LogJSON {
		return slog.NewJSONHandler(out, opt)
	}
	return slog.NewTextHandler(out, opt)
}

// levelOf maps redis.conf's levels to those of slog.
func levelOf(l config.LogLevel) slog.Level {
	switch l {
	case config.LogDebug, config.LogVerbose:
		return slog.LevelDebug
	case config.LogWarning:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// lookEvery is how often Write checks whether the file is still there.
const lookEvery = time.Second

// file is a log file that may be moved away.
type file struct {
	path string
	now  func() time.Time

	mu     sync.Mutex // guards f, looked; held over each write
	f      *os.File
	looked time.Time
}

func (l *file) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if l.f != nil {
		_ = l.f.Close()
	}
	l.f, l.looked = f, l.now()
	return nil
}

// Write implements io.Writer.
func (l *file) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.looked) >= lookEvery {
		l.looked = now
		if l.moved() {
			// If the file cannot be created again, the old one is better than none.
			_ = l.open()
		}
	}
	return l.f.Write(p)
}

func (l *file) moved() bool {
	there, err := os.Stat(l.path)
	if err != nil {
		return os.IsNotExist(err)
	}
	mine, err := l.f.Stat()
	return err == nil && !os.SameFile(there, mine)
}
