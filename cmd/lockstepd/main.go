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
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	for _, w := range warnings {
		log.Warn(w.String())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	n, err := node.Start(ctx, cfg, log)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		stopCtx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return n.Stop(stopCtx)
	case err := <-n.Fatal():
		if errors.Is(err, node.ErrShutdown) {
			stopCtx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return n.Stop(stopCtx)
		}
		if errors.Is(err, node.ErrRemoved) {
			log.Info("ending", "reason", err)
			return nil
		}
		return err
	}
}
