package backup

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"lockstep/engine"
)

// HoldMs is added to the time at which a key expires while a cluster follows a
// running server. No true time is as late, so that Release knows what is held.
const HoldMs = int64(1) << 62

// Release gives the keys of a cluster that are held the time at which they
// expire; those that are due are gone then. It may be begun again.
func Release(ctx context.Context, opt *LoadOptions) error {
	l := &loader{opt: opt}
	for db := range engine.Databases { // each: INFO may not know of a key that is new
		if err := l.release(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// release walks a database; some batches are under way beside each other.
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

// releaseStep is how many keys a batch has, about.
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

// Databases are the databases of a server that hold keys.
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
