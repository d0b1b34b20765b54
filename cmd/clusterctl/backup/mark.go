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

// MarkKey is a key of database 0 that a cluster has while something is loaded
// into it: a JSON Mark. What broke off leaves it behind, so that nobody takes half
// of a backup for the whole, and the same can go on.
const MarkKey = "lockstep:loading"

// Mark says what is loaded into a cluster.
type Mark struct {
	// ID is the same for the same files.
	ID string `json:"id"`
	// What says it for people.
	What string `json:"what"`
	// IntoEmpty: the cluster held nothing when it began.
	IntoEmpty bool `json:"into_empty"`
	// Live: a running server is copied; nobody can go on with that.
	Live bool `json:"live,omitempty"`
	// Holder is the program that loads, and Beat how often it has said that it is at
	// work; "" where nobody is at work.
	Holder string `json:"holder,omitempty"`
	Beat   int64  `json:"beat,omitempty"`

	stop  func()
	ended bool
}

// MarkOf is the mark of a backup.
func MarkOf(m *Manifest, from Source) Mark {
	h := sha256.New()
	for _, f := range m.all() {
		fmt.Fprintln(h, f.File, f.Bytes, f.SHA256)
	}
	return Mark{ID: hex.EncodeToString(h.Sum(nil)), What: fmt.Sprintf("the backup of cluster %s in %s", m.Cluster, from)}
}

// MarkOfFile reads an RDB file to its end, and is its mark.
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

// ErrNotEmpty refuses a cluster that holds something.
var ErrNotEmpty = errors.New("the cluster is not empty")

// Marked is the mark that a cluster has, nil if it has none.
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
	// beatEvery is how often who loads says that it is at work, and beatSilence after
	// which silence it is taken to have ended. No clock of another machine counts.
	beatEvery   = time.Second
	beatSilence = 5 * time.Second
)

// ErrLoading refuses a cluster that somebody else loads something into.
var ErrLoading = errors.New("is being loaded into this cluster at this moment")

// errMarkGone ends a load: its mark is another's, or not there.
var errMarkGone = errors.New("the key " + MarkKey + " is not this program's any more: the cluster was emptied, or another one took over")

// Start marks a cluster before something is loaded. Of a cluster that holds
// something it tells resumed if that is the beginning of the same, and refuses it
// otherwise, unless force is given. Where somebody else loads it refuses always.
// Until End or Abandon the mark beats; if it is lost, the context that
// is returned ends.
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
	// Behind it no beat is under way, which could put back what is taken away.
	m.stop = func() { lost(nil); _ = beats.Close(); <-ended }
	return loading, resumed, nil
}

// same tells whether a mark has not changed.
func (m *Mark) same(o *Mark) bool {
	return m == nil && o == nil || m != nil && o != nil && m.ID == o.ID && m.Holder == o.Holder && m.Beat == o.Beat
}

// awaitSilence waits until who left a mark has been silent for long enough.
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

// change puts a mark, or none, in the place of one that is as it should be.
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

// changeTries is how often a mark is looked at anew that changed at the same moment.
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

// keep beats until ctx ends. A cluster that does not take a beat takes no keys
// either, and nobody else's mark; that is waited for.
func (m *Mark) keep(ctx context.Context, c *redis.Client, lost context.CancelCauseFunc) {
	for Pause(ctx, beatEvery) == nil {
		m.Beat++
		if err := m.change(ctx, c, m.isHolder, m); errors.Is(err, errMarkGone) {
			lost(err)
			return
		}
	}
}

// isHolder tells whether a mark is this one's. A running server may be emptied
// while it is copied, and its copy with it, the mark too; that is put back.
func (m *Mark) isHolder(now *Mark) bool {
	return now != nil && now.Holder == m.Holder || now == nil && m.Live
}

// End takes the mark away.
func (m *Mark) End(ctx context.Context, t *Target) error {
	m.stop()
	c := t.Dial(0)
	defer c.Close()
	err := m.change(ctx, c, m.isHolder, nil)
	m.ended = err == nil
	return err
}

// Abandon leaves a mark that was started without a holder, so that nobody has to
// wait for it. It does nothing to one that was ended.
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

// isMark tells whether a key is the mark.
func isMark(db int, e *engine.Entry) bool { return db == 0 && e.Key() == MarkKey }
