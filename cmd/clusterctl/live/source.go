package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkSource refuses a source that cannot be copied completely, or whose writes cannot be stopped
// at the cut-over. It is better to refuse it now than at the end.
func (o *Options) checkSource(ctx context.Context) error {
	c := redis.NewClient(o.Source)
	defer c.Close()
	if err := o.checkRole(ctx, c); err != nil {
		return err
	}
	size, err := fieldsOf(ctx, c.ClusterInfo)
	if n, _ := strconv.Atoi(size["cluster_size"]); err == nil && n > 1 {
		return fmt.Errorf("the source is one of %d masters of a Redis Cluster, and has a part of the keys alone; bring in the RDB file of each (--rdb, from the second on with --force)", n)
	}
	if o.Pause > 0 {
		// A pause of a millisecond shows whether the source knows the command and this user may use
		// it.
		if err := pauseWrites(ctx, c, 1); err != nil {
			return fmt.Errorf("%w; stop the writers yourself when it is time, and say --pause 0", err)
		}
	}
	return nil
}

// checkRole refuses a replica if writes must be stopped: its writes come from its master.
func (o *Options) checkRole(ctx context.Context, c *redis.Client) error {
	f, err := replicationOf(ctx, c)
	if err != nil {
		return err
	}
	if o.Pause > 0 && f["role"] != "master" {
		return fmt.Errorf("the source is a replica of %s:%s, where writes would not stop when it is time; give that address, or stop the writers yourself and say --pause 0",
			f["master_host"], f["master_port"])
	}
	return nil
}

func pauseWrites(ctx context.Context, c *redis.Client, ms int64) error {
	if err := c.Do(ctx, "CLIENT", "PAUSE", ms, "WRITE").Err(); err != nil {
		return fmt.Errorf("the source does not stop writes (CLIENT PAUSE ... WRITE): %w", err)
	}
	return nil
}

// replicationOf returns what a server reports about its replication.
func replicationOf(ctx context.Context, c *redis.Client) (map[string]string, error) {
	return fieldsOf(ctx, func(ctx context.Context) *redis.StringCmd { return c.Info(ctx, "replication") })
}

// fieldsOf reads lines of the form name:value.
func fieldsOf(ctx context.Context, ask func(context.Context) *redis.StringCmd) (map[string]string, error) {
	text, err := ask(ctx).Result()
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[name] = value
		}
	}
	return fields, nil
}

// offsetOf returns the current offset of the source's stream.
func offsetOf(ctx context.Context, c *redis.Client) (int64, error) {
	f, err := replicationOf(ctx, c)
	if err != nil {
		return 0, err
	}
	text, told := f["master_repl_offset"]
	if !told {
		return 0, errors.New("the source does not say how far its stream is")
	}
	return strconv.ParseInt(text, 10, 64)
}
