// Command lockstepd runs a Lockstep node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"lockstep/node"
	"lockstep/node/config"
	"lockstep/node/logs"
	"lockstep/node/ops"
	"lockstep/node/process"
	"lockstep/node/secrets"
)

func main() {
	// As with redis-server, neither a closed terminal nor a closed standard error ends
	// the node.
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
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
		fmt.Printf("Lockstep server v=%s redis=%s\n", process.Version, process.RedisVersion)
		return nil
	case err != nil:
		return err
	}
	log, err := logs.Open(cfg)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log.Warn(w.String())
	}
	if cfg.CheckOnly {
		if err := errors.Join(node.CheckTLS(cfg.Current()), secrets.Check(cfg.Current())); err != nil {
			return err
		}
		fmt.Println("the configuration is good")
		return nil
	}
	if err = live(cfg, log); err != nil && cfg.Current().LogFile != "" {
		// The reason should be in the log file as well.
		log.Error("the node ends", "reason", err)
	}
	return err
}

// live starts the node and runs it until it ends.
func live(cfg *config.Config, log *logs.Log) error {
	process.PaceMemory()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// A second interrupt ends the process at once.
	context.AfterFunc(ctx, func() { signal.Reset(syscall.SIGINT) })
	n, err := node.Start(ctx, cfg, log)
	if err != nil {
		return err
	}
	return serve(ctx, cfg, n, log)
}

// serve waits until the node is told to stop or cannot continue.
func serve(ctx context.Context, cfg *config.Config, n *node.Node, log *logs.Log) error {
	select {
	case <-ctx.Done():
		// This comes before the node logs that it is stopping, because a user that reads that line
		// may send an interrupt at once.
		signal.Reset(syscall.SIGINT)
	case err := <-n.Fatal():
		if errors.Is(err, node.ErrRemoved) {
			log.Info("ending", "reason", err)
			if s := cfg.Current(); s.Rejoin && s.AdminPort != 0 {
				return n.Retire(ctx)
			}
			ctx, cancel := patience(cfg)
			defer cancel()
			n.Leave(ctx)
			return nil
		}
		if !errors.Is(err, ops.ErrShutdown) {
			return err
		}
	}
	n.Linger()
	ctx, cancel := patience(cfg)
	defer cancel()
	n.Stop(ctx)
	return nil
}

// patience bounds the time in which a node finishes its work before it ends.
func patience(cfg *config.Config) (context.Context, context.CancelFunc) {
	limit := time.Duration(cfg.Current().ShutdownTimeoutSeconds) * time.Second
	return context.WithTimeout(context.Background(), max(limit, time.Second))
}
