package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/cmd/clusterctl/backup"
	"lockstep/engine"
	"lockstep/engine/commands/values"
)

// Difference is the result of a comparison.
type Difference struct {
	// Source and Cluster count the keys by database and type, on both sides.
	Source  map[string]int64 `json:"source"`
	Cluster map[string]int64 `json:"cluster"`
	// Compared is the number of compared values, Different the keys whose values differ.
	Compared  int      `json:"compared"`
	Different []string `json:"different"`
	// PauseEnded is true if the source took writes again before the comparison ended.
	// Those writes are not in the cluster, and may not show in the numbers above.
	PauseEnded bool `json:"pause_ended"`
}

// None reports whether nothing differs.
func (d *Difference) None() bool {
	return d.same() && !d.PauseEnded
}

func (d *Difference) same() bool {
	return maps.Equal(d.Source, d.Cluster) && len(d.Different) == 0
}

// comparedAgain is how often a comparison that found differences is repeated: keys expire
// meanwhile, and not at the same moment on both sides.
const comparedAgain = 3

func compare(ctx context.Context, o *Options) (*Difference, error) {
	source := redis.NewClient(o.Source)
	defer source.Close()
	cluster := o.Load.Target.Dial(0)
	defer cluster.Close()
	for tries := 1; ; tries++ {
		d := &Difference{}
		var keys []sample
		dbs, err := backup.Databases(ctx, source)
		if err == nil {
			d.Source, keys, err = census(ctx, source, dbs, o.Samples)
		}
		if err != nil {
			return nil, fmt.Errorf("the source: %w", err)
		}
		if d.Cluster, _, err = census(ctx, cluster, everyDatabase(), 0); err != nil {
			return nil, fmt.Errorf("the cluster: %w", err)
		}
		for _, k := range keys {
			same, err := equal(ctx, source, cluster, k)
			if err != nil {
				return nil, err
			}
			if d.Compared++; !same {
				d.Different = append(d.Different, fmt.Sprintf("%d/%s", k.db, k.key))
			}
		}
		if d.same() || tries == comparedAgain {
			return d, nil
		}
		if err := backup.Pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// sample is a key to compare.
type sample struct {
	db  int
	key string
}

// everyDatabase returns all databases of the cluster. INFO would not be enough: it describes the
// node that is asked, which may not have every shard.
func everyDatabase() []int {
	all := make([]int, engine.Databases)
	for db := range all {
		all[db] = db
	}
	return all
}

// census counts keys by database and type, and draws a sample.
func census(ctx context.Context, c *redis.Client, dbs []int, samples int) (map[string]int64, []sample, error) {
	counts, seen := map[string]int64{}, 0
	var drawn []sample
	for _, db := range dbs {
		err := eachKey(ctx, c, db, func(key, kind string) {
			counts[fmt.Sprintf("db%d %s", db, kind)]++
			if seen++; len(drawn) < samples {
				drawn = append(drawn, sample{db, key})
			} else if i := rand.IntN(seen); i < samples {
				drawn[i] = sample{db, key}
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return counts, drawn, nil
}

// eachKey walks through a database. No client writes meanwhile. SCAN may return a key twice if
// tables grow; the key is then counted twice.
func eachKey(ctx context.Context, c *redis.Client, db int, f func(key, kind string)) error {
	conn := c.Conn()
	defer conn.Close()
	if err := conn.Select(ctx, db).Err(); err != nil {
		return err
	}
	defer func() { _ = conn.Select(context.WithoutCancel(ctx), 0).Err() }()
	for cursor := uint64(0); ; {
		keys, next, err := conn.Scan(ctx, cursor, "*", 1000).Result()
		if err != nil {
			return err
		}
		pipe := conn.Pipeline()
		for _, k := range keys {
			pipe.Type(ctx, k)
		}
		if len(keys) > 0 {
			kinds, err := pipe.Exec(ctx)
			if err != nil {
				return err
			}
			for i, k := range kinds {
				if kind := k.(*redis.StatusCmd).Val(); kind != "none" {
					f(keys[i], kind)
				}
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// equal compares a value and its expiry.
func equal(ctx context.Context, source, cluster *redis.Client, k sample) (bool, error) {
	a, err := readKey(ctx, source, k)
	if err != nil {
		return false, fmt.Errorf("the source's %.60q: %w", k.key, err)
	}
	b, err := readKey(ctx, cluster, k)
	if err != nil {
		return false, fmt.Errorf("the cluster's %.60q: %w", k.key, err)
	}
	if a.atMs == untold {
		// Such a source also writes into its stream the time that a key has left, and not when the
		// key expires.
		b.atMs = untold
	}
	return a == b, nil
}

// keyState is the part of a key that is compared.
type keyState struct {
	print string
	// volatile is true if the key expires, at atMs.
	volatile bool
	atMs     int64
}

// untold stands for the expiry if the server does not report it (before Redis 7).
const untold = -3

// readKey reads a key.
func readKey(ctx context.Context, c *redis.Client, k sample) (keyState, error) {
	conn := c.Conn()
	defer conn.Close()
	pipe := conn.Pipeline()
	pipe.Select(ctx, k.db)
	dump := pipe.Dump(ctx, k.key)
	ttl := pipe.Do(ctx, "PTTL", k.key)
	at := pipe.Do(ctx, "PEXPIRETIME", k.key)
	pipe.Select(ctx, 0)
	_, _ = pipe.Exec(ctx)
	text, err := dump.Result()
	if errors.Is(err, redis.Nil) {
		return keyState{print: "none"}, nil
	}
	if err != nil {
		return keyState{}, err
	}
	e, err := values.ReadPayload([]byte(text), []byte(k.key))
	if err != nil {
		return keyState{}, err
	}
	l := keyState{print: fmt.Sprintf("%x", values.ValueFingerprint(e)), atMs: untold}
	left, err := ttl.Int64()
	if err != nil {
		return keyState{}, err
	}
	l.volatile = left >= 0
	if ms, err := at.Int64(); err == nil {
		l.atMs = ms
	}
	return l, nil
}
