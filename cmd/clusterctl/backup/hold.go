package backup

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"lockstep/engine"
)

// HoldMs is added to the expiry of each key while a cluster follows a running server. No real
// expiry is that late, so Release can recognise held keys.
const HoldMs = int64(1) << 62

// Release gives the held keys of a cluster their real expiry; keys that are due are then gone. It
// may be repeated.
func Release(ctx context.Context, opt *LoadOptions) error {
	l := &loader{opt: opt}
	for db := range engine.Databases { // all of them: INFO may not know a new key yet
		if err := l.release(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// release walks through a database. Several batches run at the same time.
func (l *loader) release(ctx context.Context, db int) error {
	c := l.opt.Target.Dial(db)
	defer c.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(l.opt.Workers, 1))
	for cursor := uint64(0); ctx.Err() == nil; {
		var keys []string
		var next uint64
		err := l.again(ctx, func() (err error) {
			keys, next, err = c.Scan(ctx, cursor, "*", releaseStep).Result()
			return err
		})
		if err != nil {
			group.Go(func() error { return err })
			break
		}
		if len(keys) > 0 {
			group.Go(func() error { return l.again(ctx, func() error { return releaseKeys(ctx, c, keys) }) })
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	return group.Wait()
}

// releaseStep is about how many keys a batch has.
const releaseStep = 1000

func releaseKeys(ctx context.Context, c *redis.Client, keys []string) error {
	asked, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, k := range keys {
			p.Do(ctx, "PEXPIRETIME", k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range asked {
			at, err := asked[i].(*redis.Cmd).Int64()
			if err != nil {
				return err
			}
			if at >= HoldMs {
				p.Do(ctx, "PEXPIREAT", keys[i], at-HoldMs)
			}
		}
		return nil
	})
	return err
}

// Databases returns the databases of a server that hold keys.
func Databases(ctx context.Context, c *redis.Client) ([]int, error) {
	text, err := c.Info(ctx, "keyspace").Result()
	var list []int
	for _, line := range strings.Split(text, "\n") {
		name, _, found := strings.Cut(line, ":")
		number, isDB := strings.CutPrefix(name, "db")
		if n, err := strconv.Atoi(number); found && isDB && err == nil {
			list = append(list, n)
		}
	}
	return list, err
}
