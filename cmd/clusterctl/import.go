package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"lockstep/cmd/clusterctl/backup"
	"lockstep/cmd/clusterctl/live"
)

// loadPatience is how long a batch is retried while the cluster cannot take it.
const loadPatience = 2 * time.Minute

// importing are the flags of import.
type importing struct {
	loading
	file, from, spoolDir string
	pause                time.Duration
	spoolMB, samples     int
}

func newImport(opt *options) *cobra.Command {
	var i importing
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Load an RDB file, or copy a running Redis, into a cluster",
		Long: `Load an RDB file of a redis-server into a cluster, and compare the two:

  clusterctl import --rdb dump.rdb

Or copy a running Redis or Valkey and follow its writes, as a replica would, until
you cut over: type a line (Enter), or send SIGUSR1. Then the source takes no
writes for --pause, clusterctl applies the writes that are still on their way, and
compares the two: counts by type, and values drawn at random. Lead your clients to
the cluster during the pause.

  clusterctl import --from redis://user:password@old:6379

To keep the password out of the list of processes, give it in
LOCKSTEP_SOURCE_PASSWORD and leave it out of the address.

A link that breaks goes on where it ended. If it cannot, the copy begins anew with
an empty cluster. The exit code is 1 if the comparison found a difference.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (i.file == "") == (i.from == "") {
				return errors.New("say --rdb FILE, or --from redis://HOST:PORT")
			}
			t, err := opt.target(cmd.Context())
			if err != nil {
				return err
			}
			if i.file != "" {
				return i.loadFile(cmd, opt, t)
			}
			return i.follow(cmd, opt, t)
		},
	}
	f := cmd.Flags()
	f.StringVar(&i.file, "rdb", "", "path of the RDB file")
	f.StringVar(&i.from, "from", "", "address of the running Redis: redis:// or rediss:// (password also from LOCKSTEP_SOURCE_PASSWORD)")
	f.DurationVar(&i.pause, "pause", time.Minute, "how long the source takes no writes at the cut-over; 0 if you have stopped the writers")
	f.StringVar(&i.spoolDir, "spool", "", "folder for the source's file and stream on their way (default: the folder for temporary files)")
	f.IntVar(&i.spoolMB, "spool-mb", 4096, "most of the stream that may wait there, in MB")
	f.IntVar(&i.samples, "samples", 1000, "number of values that are compared at the end")
	i.flags(cmd)
	return cmd
}

// loadFile loads an RDB file, after it has read the file to its end once.
func (i *importing) loadFile(cmd *cobra.Command, opt *options, t *backup.Target) error {
	from, files, err := backup.Local(i.file)
	if err != nil {
		return refused{fmt.Errorf("nothing was done: %w", err)}
	}
	b := newBar(cmd, "checking", true)
	mark, err := backup.MarkOfFile(cmd.Context(), from, files, b.tell)
	b.end()
	if err != nil {
		return refused{fmt.Errorf("nothing was done: %w", err)}
	}
	ctx, l, err := i.markTarget(cmd, t, mark)
	if err != nil {
		return err
	}
	defer mark.Abandon(t)
	if err := i.load(ctx, cmd, t, from, files, mark, l); err != nil {
		return err
	}
	if err := endLoading(cmd, t, mark); err != nil {
		return err
	}
	return opt.printLoaded(cmd, l)
}

// follow copies a running server.
func (i *importing) follow(cmd *cobra.Command, opt *options, t *backup.Target) error {
	source, err := redis.ParseURL(i.from)
	if err != nil {
		return errors.New("--from is redis://[user:password@]host:port")
	}
	if source.Password == "" {
		source.Password = os.Getenv("LOCKSTEP_SOURCE_PASSWORD")
	}
	source.DisableIdentity, source.Protocol, source.DB = true, 2, 0
	c := t.Dial(0)
	defer c.Close()
	held, err := backup.Holdings(cmd.Context(), c)
	if err != nil {
		return err
	}
	if held != "" {
		return refused{fmt.Errorf("nothing was done: the cluster is not empty (%s); a running server is copied into an empty one, --force or not; "+
			"if a copy that broke off left this, empty the cluster (FLUSHALL, FUNCTION FLUSH) and begin anew", held)}
	}
	b := newBar(cmd, "loading", true)
	d, err := live.Run(cmd.Context(), &live.Options{
		Source: source, Dir: i.spoolDir, SpoolBytesMax: int64(i.spoolMB) << 20, Pause: i.pause, Samples: i.samples,
		Load:    backup.LoadOptions{Target: *t, KeysPerSec: i.rate, Workers: i.workers, Patience: loadPatience, Progress: b.tell},
		CutOver: cutOver(cmd),
		Say:     func(format string, args ...any) { fmt.Fprintf(stderr(cmd), format+"\n", args...) },
	})
	b.end()
	if errors.As(err, new(live.NotBegun)) {
		return refused{fmt.Errorf("nothing was done: %w", err)}
	}
	if err != nil {
		return uncertain{fmt.Errorf("the cluster does not hold all: %w", err)}
	}
	err = opt.print(cmd, d, func() {
		total := int64(0)
		for _, n := range d.Cluster {
			total += n
		}
		fmt.Fprintf(cmd.OutOrStdout(), "cut over: %d keys, %d values compared, %d differ\n", total, d.Compared, len(d.Different))
		if d.PauseEnded {
			fmt.Fprintf(cmd.OutOrStdout(), "the source took writes again before the comparison ended (--pause %v): those writes are not in the cluster\n", i.pause)
		}
		if len(d.Different) > 0 || !maps.Equal(d.Source, d.Cluster) {
			fmt.Fprintf(cmd.OutOrStdout(), "the source has %v, the cluster %v; these differ: %v\n", d.Source, d.Cluster, d.Different)
		}
	})
	if err == nil && !d.None() {
		return exitCode(exitDegraded)
	}
	return err
}

// cutOver returns a channel that is closed when a line is read from standard input, or SIGUSR1
// arrives.
func cutOver(cmd *cobra.Command) <-chan struct{} {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGUSR1)
	go func() {
		if _, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n'); err == nil {
			stop()
		}
	}()
	fmt.Fprintf(stderr(cmd), "press Enter, or send SIGUSR1 to %d, when it is time to cut over\n", os.Getpid())
	return ctx.Done()
}
