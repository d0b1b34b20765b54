package live

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/cmd/clusterctl/backup"
)

// Options say what to copy, and where to.
type Options struct {
	Source *redis.Options
	Load   backup.LoadOptions
	// Dir is the folder for temporary files. SpoolBytesMax bounds the file of the stream.
	Dir           string
	SpoolBytesMax int64
	// Pause is how long the source refuses writes at the cut-over. 0 means that the user has
	// stopped the writers.
	Pause time.Duration
	// Samples is how many values are compared at the end.
	Samples int
	// CutOver is closed when it is time to cut over.
	CutOver <-chan struct{}
	// Say prints events, and once a second the progress.
	Say func(format string, args ...any)

	// pausedAt is when the source stopped accepting writes, or a little earlier: its answer may
	// have come late.
	pausedAt time.Time
}

const (
	// anewMax is how often a copy may begin again.
	anewMax = 10
	// againEvery is the time between two attempts to reach the source.
	againEvery = 500 * time.Millisecond
	sayEvery   = time.Second
)

// errCutOver ends the applier when everything has been applied.
var errCutOver = errors.New("cut over")

// NotBegun is an error of a copy that has not changed the cluster.
type NotBegun struct{ error }

// Unwrap implements the interface of package errors.
func (n NotBegun) Unwrap() error { return n.error }

// Run copies, follows, and cuts over. The cluster must be empty. Run empties it if the copy begins
// again.
func Run(ctx context.Context, o *Options) (*Difference, error) {
	if err := o.checkSource(ctx); err != nil {
		return nil, NotBegun{err}
	}
	o.Load.Hold = true
	for tries := 1; ; tries++ {
		err := o.copyOnce(ctx)
		early, isEarly := errors.AsType[NotBegun](err)
		if isEarly && tries > 1 {
			err, isEarly = early.error, false // The cluster has been emptied.
		}
		switch {
		case errors.Is(err, errCutOver):
			o.Say("comparing")
			return o.compareWithin(ctx)
		case isEarly:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, errAnew) && !errors.Is(err, errUnsure) || tries == anewMax:
			return nil, err
		}
		o.Say("beginning anew: %v", err)
		if err := o.empty(ctx); err != nil {
			return nil, err
		}
	}
}

// compareWithin compares both sides, and reports whether the source refused writes meanwhile.
func (o *Options) compareWithin(ctx context.Context) (*Difference, error) {
	d, err := compare(ctx, o)
	if err == nil && o.Pause > 0 {
		d.PauseEnded = time.Since(o.pausedAt) >= o.Pause
	}
	return d, err
}

func (o *Options) empty(ctx context.Context) error {
	c := o.Load.Target.Dial(0)
	defer c.Close()
	deadline := time.Now().Add(o.Load.Patience)
	for {
		err := errors.Join(c.FlushAll(ctx).Err(), c.Do(ctx, "FUNCTION", "FLUSH").Err())
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		if err := backup.Pause(ctx, againEvery); err != nil {
			return err
		}
	}
}

// follower is one attempt to copy and follow.
type follower struct {
	*Options
	id                     string
	begin                  int64
	received, applied, ran atomic.Int64
	spool                  *spool
	link                   atomic.Pointer[link]
}

func (o *Options) copyOnce(ctx context.Context) error {
	l, err := dialLink(ctx, o.Source)
	if err != nil {
		return NotBegun{err}
	}
	f := &follower{Options: o}
	f.link.Store(l)
	defer func() { _ = f.link.Load().conn.Close() }()
	// The source may take hours for its file. If the import is told to end, it must not wait.
	defer context.AfterFunc(ctx, func() { _ = f.link.Load().conn.Close() })()
	file, err := os.CreateTemp(o.Dir, "clusterctl-import-*.rdb")
	if err != nil {
		return NotBegun{err}
	}
	defer os.Remove(file.Name())
	defer file.Close()
	o.Say("waiting for the source's file")
	if f.id, f.begin, err = l.fullResync(file, o.Load.Progress); err != nil {
		return NotBegun{err}
	}
	f.received.Store(f.begin)
	f.applied.Store(f.begin)
	if f.spool, err = newSpool(o.Dir, o.SpoolBytesMax); err != nil {
		return NotBegun{err}
	}
	defer f.spool.close()
	mark := backup.Mark{ID: rand.Text(), What: "the copy of the running server at " + o.Source.Addr, Live: true}
	loading, _, err := mark.Start(ctx, &o.Load.Target, false)
	if err != nil {
		return NotBegun{err}
	}
	if err = f.follow(loading, file.Name()); !errors.Is(err, errCutOver) {
		mark.Abandon(&o.Load.Target)
		return err
	}
	o.Say("all of the source's stream is applied")
	if err := backup.Release(loading, &o.Load); err != nil {
		return fmt.Errorf("not all keys have the time yet at which they expire: %w", first(context.Cause(loading), err))
	}
	if err := mark.End(ctx, &o.Load.Target); err != nil {
		return fmt.Errorf("the key %s could not be deleted: %w", backup.MarkKey, err)
	}
	return errCutOver
}

// follow loads the file while the stream gathers. Then it applies the stream, until all
// of it is applied after CutOver.
func (f *follower) follow(ctx context.Context, file string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	received := make(chan struct{})
	go func() {
		defer close(received)
		err := f.receive(ctx)
		cancel(err)
		f.spool.end(err)
	}()
	defer func() { <-received }()
	defer cancel(nil)
	from, files, err := backup.Local(file)
	if err != nil {
		return err
	}
	if err := backup.Load(ctx, &f.Load, from, files); err != nil {
		return first(context.Cause(ctx), err)
	}
	f.Say("the source's file is loaded; following")
	go f.watch(ctx, cancel)
	c := f.Load.Target.Dial(0)
	defer c.Close()
	conn := c.Conn()
	defer conn.Close()
	a := &applier{
		in: &streamReader{in: bufio.NewReaderSize(f.spool, 256<<10), offset: f.begin}, conn: conn, db: "0", applied: &f.applied, ran: &f.ran,
		acknowledge: func() { _ = f.link.Load().acknowledge(f.received.Load()) },
	}
	err = a.run(ctx)
	return first(context.Cause(ctx), err)
}

// first returns cause, or err if cause is nil or a mere cancellation.
func first(cause, err error) error {
	if cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// receive reads the stream and restores the link when it breaks.
func (f *follower) receive(ctx context.Context) error {
	for {
		err := f.link.Load().receive(ctx, f.spool, &f.received)
		var broken errLinkBroken
		if ctx.Err() != nil || !errors.As(err, &broken) {
			return err
		}
		_ = f.link.Load().conn.Close()
		f.Say("the link to the source broke (%v)", broken.error)
		if err := f.reach(ctx); err != nil {
			return err
		}
		f.Say("the link to the source is back, and goes on where it ended")
	}
}

// reach restores the link.
func (f *follower) reach(ctx context.Context) error {
	deadline := time.Now().Add(f.Load.Patience)
	for {
		l, err := dialLink(ctx, f.Source)
		if err == nil {
			var id string
			if id, err = l.goOn(f.id, f.received.Load()); err == nil {
				f.id = id // Not before: a retry must ask for the same history.
				f.link.Store(l)
				return nil
			}
			_ = l.conn.Close()
		}
		if errors.Is(err, errAnew) || time.Now().After(deadline) {
			return err
		}
		if err := backup.Pause(ctx, againEvery); err != nil {
			return err
		}
	}
}

// watch prints the progress. After CutOver it ends the applier once everything is applied.
func (f *follower) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	t := time.NewTicker(sayEvery)
	defer t.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.CutOver:
			err := f.drain(ctx)
			cancel(err)
			f.spool.end(err)
			return
		case <-t.C:
		}
		text := fmt.Sprintf("%d commands applied, %d bytes behind", f.ran.Load(), f.received.Load()-f.applied.Load())
		if text != said {
			f.Say("%s", text)
			said = text
		}
	}
}

// drain stops writes to the source, and waits until everything in its stream is applied.
func (f *follower) drain(ctx context.Context) error {
	c := redis.NewClient(f.Source)
	defer c.Close()
	if f.Pause > 0 {
		if err := f.checkRole(ctx, c); err != nil {
			return err
		}
		f.pausedAt = time.Now()
		if err := pauseWrites(ctx, c, f.Pause.Milliseconds()); err != nil {
			return err
		}
		f.Say("the source takes no writes for %v", f.Pause)
	}
	end, err := offsetOf(ctx, c)
	if err != nil {
		return err
	}
	for f.applied.Load() < end {
		if err := backup.Pause(ctx, 10*time.Millisecond); err != nil {
			return context.Cause(ctx)
		}
	}
	return errCutOver
}
