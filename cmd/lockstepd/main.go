// Command lockstepd is a Lockstep node.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"lockstep/node"
	"lockstep/node/config"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lockstepd:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg, warnings, err := config.Load(os.Args[1:], os.Environ(), os.Stdin)
	switch {
	case errors.Is(err, config.ErrHelp):
		fmt.Print(config.Help())
		return nil
	case errors.Is(err, config.ErrVersion):
		fmt.Printf("Lockstep server v=%s redis=%s\n", node.Version, node.RedisVersion)
		return nil
	case err != nil:
		return err
	}
	log, err := newLog(cfg)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn(w.String())
	}
	if cfg.CheckOnly {
		fmt.Println("the configuration is good")
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	n, err := node.Start(ctx, cfg, log)
	if err != nil {
		return err
	}
	return serve(ctx, cfg, n, log)
}

// serve waits until the node is told to stop, or cannot go on.
func serve(ctx context.Context, cfg *config.Config, n *node.Node, log *slog.Logger) error {
	select {
	case <-ctx.Done():
	case err := <-n.Fatal():
		if errors.Is(err, node.ErrRemoved) {
			log.Info("ending", "reason", err)
			return nil
		}
		if !errors.Is(err, node.ErrShutdown) {
			return err
		}
	}
	patience := time.Duration(cfg.Current().ShutdownTimeoutSeconds) * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), max(patience, time.Second))
	defer cancel()
	return n.Stop(ctx)
}

// newLog makes the log the settings ask for; its level follows CONFIG SET.
func newLog(cfg *config.Config) (*slog.Logger, error) {
	s := cfg.Current()
	out := os.Stderr
	if s.LogFile != "" {
		f, err := os.OpenFile(s.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("logfile: %w", err)
		}
		out = f
	}
	level := &slog.LevelVar{}
	level.Set(levelOf(s.LogLevel))
	cfg.OnChange("loglevel", func(s *config.Settings) { level.Set(levelOf(s.LogLevel)) })
	opt := &slog.HandlerOptions{Level: level}
	if s.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(out, opt)), nil
	}
	return slog.New(slog.NewTextHandler(out, opt)), nil
}

func levelOf(l config.LogLevel) slog.Level {
	switch l {
	case config.LogDebug, config.LogVerbose:
		return slog.LevelDebug
	case config.LogWarning:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
