package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"lockstep/engine"
	"lockstep/engine/commands/values"
)

// LoadOptions say how files are loaded into a cluster.
type LoadOptions struct {
	Target Target
	// KeysPerSec limits the rate; 0 means no limit.
	KeysPerSec int
	// Workers is how many batches are under way at once.
	Workers int
	// Patience is how long a batch is retried while the cluster refuses it.
	Patience time.Duration
	Progress Progress
	// Hold makes keys expire HoldMs later than the files say, until Release.
	Hold bool
}

// Limits of a batch.
const (
	batchKeysMax  = 256
	batchBytesMax = 2 << 20
	// pieceBytes is the size from which a value is loaded in pieces: one command must
	// fit into one log entry.
	pieceBytes = 16 << 20
)

// Files are the names of files of a source, and their total size.
type Files struct {
	Names []string
	Bytes int64
}

// loader loads keys into a cluster, batch by batch.
type loader struct {
	opt   *LoadOptions
	c     *redis.Client
	out   chan batch
	next  batch
	begun time.Time
	sent  int64
	done  atomic.Int64
	total int64
}

// batch is a number of keys of one database.
type batch struct {
	db    int
	keys  []restored
	bytes int
}

type restored struct {
	key, payload string
	atMs         int64
	entry        *engine.Entry
}

// Load loads RDB files into a cluster: libraries, scripts, and keys. It replaces existing keys, so
// that an interrupted load can be repeated.
func Load(ctx context.Context, opt *LoadOptions, from Source, files *Files) error {
	c := opt.Target.Dial(0)
	defer c.Close()
	l := &loader{opt: opt, c: c, out: make(chan batch), begun: time.Now(), total: files.Bytes}
	group, ctx := errgroup.WithContext(ctx)
	for range max(opt.Workers, 1) {
		group.Go(func() error { return l.work(ctx) })
	}
	group.Go(func() error {
		defer close(l.out)
		for _, name := range files.Names {
			if err := l.read(ctx, from, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return group.Wait()
}

func (l *loader) read(ctx context.Context, from Source, name string) error {
	f, _, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = ReadFile(&counted{f, l}, Visitor{
		Key:     func(db int, e *engine.Entry) error { return l.add(ctx, db, e) },
		Library: func(source []byte) error { return l.alone(ctx, "FUNCTION", "LOAD", "REPLACE", source) },
		Script:  func(source []byte) error { return l.alone(ctx, "SCRIPT", "LOAD", source) },
	})
	if err != nil {
		return err
	}
	return l.flush(ctx)
}

// counted reports how much of the files has been read.
type counted struct {
	in io.Reader
	l  *loader
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if done := c.l.done.Add(int64(n)); c.l.opt.Progress != nil {
		c.l.opt.Progress(done, c.l.total)
	}
	return n, err
}

func (l *loader) alone(ctx context.Context, args ...any) error {
	return l.again(ctx, func() error { return l.c.Do(ctx, args...).Err() })
}

func (l *loader) add(ctx context.Context, db int, e *engine.Entry) error {
	if db != l.next.db || len(l.next.keys) == batchKeysMax || l.next.bytes > batchBytesMax {
		if err := l.flush(ctx); err != nil {
			return err
		}
		l.next.db = db
	}
	r := restored{key: e.Key(), atMs: e.ExpireAtMs, payload: string(values.AppendPayload(nil, e))}
	if l.opt.Hold && r.atMs != 0 {
		if r.atMs >= HoldMs {
			return fmt.Errorf("key %.60q expires at %d: so late a time cannot be kept while the source is followed", r.key, r.atMs)
		}
		r.atMs += HoldMs
	}
	l.next.bytes += len(r.payload) + len(r.key)
	if len(r.payload) > pieceBytes {
		r.entry, r.payload = e, ""
	}
	l.next.keys = append(l.next.keys, r)
	return nil
}

func (l *loader) flush(ctx context.Context) error {
	b := l.next
	l.next = batch{}
	if len(b.keys) == 0 {
		return nil
	}
	if err := l.pace(ctx, len(b.keys)); err != nil {
		return err
	}
	select {
	case l.out <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pace waits until n more keys may be sent.
func (l *loader) pace(ctx context.Context, n int) error {
	l.sent += int64(n)
	if l.opt.KeysPerSec <= 0 {
		return nil
	}
	at := l.begun.Add(time.Duration(float64(l.sent) / float64(l.opt.KeysPerSec) * float64(time.Second)))
	return Pause(ctx, time.Until(at))
}

// Pause waits, at most until ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *loader) work(ctx context.Context) error {
	conn := l.c.Conn()
	defer conn.Close()
	for b := range l.out {
		err := l.again(ctx, func() error {
			err := restoreBatch(ctx, conn, &b)
			if isBroken(err) {
				_ = conn.Close()
				conn = l.c.Conn()
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreBatch restores keys. Repeating it changes nothing.
func restoreBatch(ctx context.Context, conn *redis.Conn, b *batch) error {
	pipe := conn.Pipeline()
	pipe.Do(ctx, "SELECT", b.db)
	for i := range b.keys {
		k := &b.keys[i]
		if k.entry != nil {
			if err := appendPieces(ctx, pipe, k); err != nil {
				return err
			}
			continue
		}
		pipe.Do(ctx, "RESTORE", k.key, k.atMs, k.payload, "REPLACE", "ABSTTL")
	}
	replies, err := pipe.Exec(ctx)
	if isBroken(err) {
		return err
	}
	for _, r := range replies {
		if err := r.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("%v %.60q: %w", r.Args()[0], fmt.Sprint(r.Args()[1:2]...), err)
		}
	}
	return nil
}

// isBroken reports whether an error is a failure of the connection, and not an answer of
// a node.
func isBroken(err error) bool {
	var reply redis.Error
	return err != nil && !errors.As(err, &reply)
}

// passing are the prefixes of temporary errors, after which a batch is tried again.
var passing = []string{"OVERLOADED", "CLUSTERDOWN", "INDETERMINATE", "LOADING", "TRYAGAIN", "BUSY "}

// again retries until the call works, the error is final, or the patience is over.
func (l *loader) again(ctx context.Context, try func() error) error {
	begun := time.Now()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := try()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		var reply redis.Error
		worth := !errors.As(err, &reply)
		for _, p := range passing {
			worth = worth || strings.HasPrefix(reply.Error(), p)
		}
		if !worth || time.Since(begun) > l.opt.Patience {
			return err
		}
		if err := Pause(ctx, wait); err != nil {
			return err
		}
	}
}

// TallyFiles tallies files, without keys that have expired by a time.
func TallyFiles(ctx context.Context, from Source, files *Files, afterMs int64) (*Tally, error) {
	t := &Tally{AfterMs: afterMs}
	for _, name := range files.Names {
		f, _, err := from.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		err = errors.Join(ReadFile(until{ctx, f}, Visitor{Key: adder(t)}), f.Close())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return t, nil
}

// Compare tallies the cluster and the files, and returns an error if they differ.
func Compare(ctx context.Context, t *Target, from Source, files *Files) (*Tally, error) {
	c := t.Dial(0)
	defer c.Close()
	have, err := TallyCluster(ctx, c)
	if err != nil {
		return nil, err
	}
	want, err := TallyFiles(ctx, from, files, have.AfterMs)
	if err != nil {
		return nil, err
	}
	if !have.Equal(want) {
		return have, fmt.Errorf("the cluster does not hold what the files hold: %s instead of %s, digests %.16s and %.16s", have, want, have.Digest, want.Digest)
	}
	return have, nil
}
