package backup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/engine"
)

// MarkKey is the key of the Mark (JSON, in database 0) that a cluster has during a load. An
// interrupted load leaves it there. So half a backup cannot be mistaken for a whole one, and the
// same load can be continued.
const MarkKey = "lockstep:loading"

// Mark describes the load of a cluster.
type Mark struct {
	// ID is the same for the same files.
	ID string `json:"id"`
	// What names the load in messages.
	What string `json:"what"`
	// IntoEmpty is true if the cluster was empty when the load began.
	IntoEmpty bool `json:"into_empty"`
	// Live is true if a running server is copied. Such a copy cannot be continued.
	Live bool `json:"live,omitempty"`
	// Holder identifies the program that loads; it is "" if no program does. Beat counts the
	// program's signs of life.
	Holder string `json:"holder,omitempty"`
	Beat   int64  `json:"beat,omitempty"`

	stop  func()
	ended bool
}

// MarkOf returns the mark of a backup.
func MarkOf(m *Manifest, from Source) Mark {
	h := sha256.New()
	for _, f := range m.all() {
		fmt.Fprintln(h, f.File, f.Bytes, f.SHA256)
	}
	return Mark{ID: hex.EncodeToString(h.Sum(nil)), What: fmt.Sprintf("the backup of cluster %s in %s", m.Cluster, from)}
}

// MarkOfFile reads an RDB file to its end, and returns its mark.
func MarkOfFile(ctx context.Context, from Source, files *Files, progress Progress) (*Mark, error) {
	name, done := files.Names[0], int64(0)
	in, _, err := from.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	sum := &summed{in: until{ctx, in}, hash: sha256.New(), told: func(n int64) {
		if done += n; progress != nil {
			progress(min(done, files.Bytes), files.Bytes)
		}
	}}
	if err := ReadFile(sum, Visitor{}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := io.Copy(io.Discard, sum); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Mark{ID: sum.text(), What: "the file " + name}, nil
}

// ErrNotEmpty is returned for a cluster that is not empty.
var ErrNotEmpty = errors.New("the cluster is not empty")

// Marked returns the mark of a cluster, or nil if it has none.
func Marked(ctx context.Context, c redis.Cmdable) (*Mark, error) {
	text, err := c.Get(ctx, MarkKey).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m Mark
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("the key %s is no mark of this program: %w", MarkKey, err)
	}
	return &m, nil
}

const (
	// beatEvery is the time between two signs of life of a loading program. After
	// beatSilence without one it counts as ended. Only this machine's clock is used.
	beatEvery   = time.Second
	beatSilence = 5 * time.Second
)

// ErrLoading is returned if another program is loading into the cluster.
var ErrLoading = errors.New("is being loaded into this cluster at this moment")

// errMarkGone ends a load whose mark belongs to another program or is missing.
var errMarkGone = errors.New("the key " + MarkKey + " is not this program's any more: the cluster was emptied, or another one took over")

// Start marks a cluster before a load. If the cluster holds the beginning of the same
// load, resumed is true. If it holds anything else, Start refuses it, unless force is
// given. If another program is loading, Start always refuses. The mark beats until End or
// Abandon; if it is lost, the returned context ends.
func (m *Mark) Start(ctx context.Context, t *Target, force bool) (loading context.Context, resumed bool, err error) {
	c := t.Dial(0)
	defer c.Close()
	before, err := Marked(ctx, c)
	if err != nil && !force {
		return nil, false, err
	}
	held, err := Holdings(ctx, c)
	switch {
	case err != nil:
		return nil, false, err
	case before != nil && before.ID == m.ID && before.IntoEmpty && !m.Live:
		m.IntoEmpty, resumed = true, true
	case held == "":
		m.IntoEmpty = true
	case force:
	case before != nil && before.Live:
		return nil, false, fmt.Errorf("%w: %s is or was under way; if it broke off, empty the cluster (FLUSHALL, FUNCTION FLUSH) and begin anew", ErrNotEmpty, before.What)
	case before != nil:
		return nil, false, fmt.Errorf("%w: %s was being loaded, and that broke off; go on with that one, or empty the cluster (FLUSHALL, FUNCTION FLUSH) and begin anew", ErrNotEmpty, before.What)
	default:
		return nil, false, fmt.Errorf("%w (%s); --force replaces keys of the same name and leaves others", ErrNotEmpty, held)
	}
	if err := awaitSilence(ctx, c, before); err != nil {
		return nil, false, err
	}
	host, _ := os.Hostname()
	m.Holder, m.Beat = fmt.Sprintf("process %d on %s (%s)", os.Getpid(), host, rand.Text()[:8]), 0
	if err := m.change(ctx, c, func(now *Mark) bool { return now.same(before) }, m); err != nil {
		if errors.Is(err, errMarkGone) {
			err = fmt.Errorf("something else %w", ErrLoading)
		}
		return nil, false, err
	}
	loading, lost := context.WithCancelCause(ctx)
	mine, beats, ended := *m, t.Dial(0), make(chan struct{})
	go func() {
		defer close(ended)
		mine.keep(loading, beats, lost)
	}()
	// After this no beat is under way, which could restore the mark once it is deleted.
	m.stop = func() { lost(nil); _ = beats.Close(); <-ended }
	return loading, resumed, nil
}

// same reports whether two marks are equal.
func (m *Mark) same(o *Mark) bool {
	return m == nil && o == nil || m != nil && o != nil && m.ID == o.ID && m.Holder == o.Holder && m.Beat == o.Beat
}

// awaitSilence waits until the program that left a mark has been silent for beatSilence.
func awaitSilence(ctx context.Context, c *redis.Client, before *Mark) error {
	if before == nil || before.Holder == "" {
		return nil
	}
	for began := time.Now(); time.Since(began) < beatSilence; {
		if err := Pause(ctx, beatEvery/4); err != nil {
			return err
		}
		now, err := Marked(ctx, c)
		if err == nil && now != nil && !now.same(before) {
			return fmt.Errorf("%s %w, by %s", now.What, ErrLoading, now.Holder)
		}
	}
	return nil
}

// change replaces the mark by next, which may be nil, if the current one is as expected.
func (m *Mark) change(ctx context.Context, c *redis.Client, is func(now *Mark) bool, next *Mark) error {
	for tries := 1; ; tries++ {
		err := m.changeOnce(ctx, c, is, next)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
		if tries == changeTries {
			return errMarkGone
		}
	}
}

// changeTries is how often a change is retried if the mark changed at the same moment.
const changeTries = 5

func (m *Mark) changeOnce(ctx context.Context, c *redis.Client, is func(now *Mark) bool, next *Mark) error {
	return c.Watch(ctx, func(tx *redis.Tx) error {
		now, err := Marked(ctx, tx)
		if err != nil {
			return err
		}
		if !is(now) {
			return errMarkGone
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			if next == nil {
				p.Del(ctx, MarkKey)
				return nil
			}
			text, err := json.Marshal(next)
			p.Set(ctx, MarkKey, text, 0)
			return err
		})
		return err
	}, MarkKey)
}

// keep writes a beat at intervals until ctx ends. If the cluster refuses a beat, it also refuses
// keys and other marks, so keep waits for it.
func (m *Mark) keep(ctx context.Context, c *redis.Client, lost context.CancelCauseFunc) {
	for Pause(ctx, beatEvery) == nil {
		m.Beat++
		if err := m.change(ctx, c, m.isHolder, m); errors.Is(err, errMarkGone) {
			lost(err)
			return
		}
	}
}

// isHolder reports whether a mark is this program's. A running server may be emptied
// while it is copied, which also empties the copy and deletes the mark; keep restores it.
func (m *Mark) isHolder(now *Mark) bool {
	return now != nil && now.Holder == m.Holder || now == nil && m.Live
}

// End deletes the mark.
func (m *Mark) End(ctx context.Context, t *Target) error {
	m.stop()
	c := t.Dial(0)
	defer c.Close()
	err := m.change(ctx, c, m.isHolder, nil)
	m.ended = err == nil
	return err
}

// Abandon leaves the mark without a holder, so that the next program need not wait for
// it. After End it does nothing.
func (m *Mark) Abandon(t *Target) {
	if m.stop(); m.ended {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), beatSilence)
	defer cancel()
	c := t.Dial(0)
	defer c.Close()
	free := *m
	free.Holder = ""
	_ = m.change(ctx, c, m.isHolder, &free)
}

// isMark reports whether a key is the mark.
func isMark(db int, e *engine.Entry) bool { return db == 0 && e.Key() == MarkKey }
