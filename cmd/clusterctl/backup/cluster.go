package backup

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/engine"
	"lockstep/proto/admin"
)

// Target is a cluster, reached through one of its nodes.
type Target struct {
	Addr, User, Password string
	// TLS is nil for a connection without TLS.
	TLS *tls.Config
	// Timeout is how long the node may take for one answer.
	Timeout time.Duration
}

// Dial returns a client of the node that never retries.
func (t *Target) Dial(db int) *redis.Client {
	timeout := max(t.Timeout, time.Minute)
	return redis.NewClient(&redis.Options{
		Addr: t.Addr, Username: t.User, Password: t.Password, TLSConfig: t.TLS, DB: db, DialTimeout: t.Timeout, ReadTimeout: timeout, WriteTimeout: timeout, MaxRetries: -1,
		PoolSize: 64, DisableIdentity: true, Protocol: 2,
	})
}

// Begin makes a cut of the cluster: a consistent state to read.
func Begin(ctx context.Context, c *redis.Client) (*admin.Backup, error) {
	text, err := c.Do(ctx, "LOCKSTEP", "BACKUP", "BEGIN").Text()
	if err != nil {
		return nil, fmt.Errorf("the cluster cannot be cut: %w", err)
	}
	var b admin.Backup
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		return nil, fmt.Errorf("a node's answer makes no sense: %w", err)
	}
	return &b, nil
}

// Note tells the cluster that a backup was made, so that its nodes know the age of the newest one.
func Note(ctx context.Context, c *redis.Client, m *Manifest) error {
	return c.Do(ctx, "LOCKSTEP", "BACKUP", "DONE", m.BeganMs).Err()
}

// End releases the parts of the cut that were not read.
func End(c *redis.Client, b *admin.Backup) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, p := range b.Parts {
		_ = c.Do(ctx, "LOCKSTEP", "BACKUP", "END", p.Node, p.ID).Err()
	}
}

// part reads one shard's file.
type part struct {
	ctx  context.Context
	c    *redis.Client
	of   *admin.BackupPart
	told func(keys int64)
	rest string
	end  bool
}

// Read implements io.Reader.
func (p *part) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.end {
			return 0, io.EOF
		}
		if err := p.ctx.Err(); err != nil {
			return 0, err
		}
		answer, err := p.c.Do(p.ctx, "LOCKSTEP", "BACKUP", "NEXT", p.of.Node, p.of.ID).Slice()
		if err != nil {
			return 0, fmt.Errorf("shard %d: %w", p.of.Shard, err)
		}
		text, isText := any(nil), false
		if len(answer) == 2 {
			text = answer[0]
		}
		if p.rest, isText = text.(string); !isText {
			return 0, fmt.Errorf("shard %d: a node's answer makes no sense", p.of.Shard)
		}
		if keys, ok := answer[1].(int64); ok && p.told != nil {
			p.told(keys)
		}
		p.end = len(p.rest) == 0
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// TallyCluster makes a cut and tallies the cluster's contents in it. It leaves out keys that have
// expired by then, and the mark of a load.
func TallyCluster(ctx context.Context, c *redis.Client) (*Tally, error) {
	b, err := Begin(ctx, c)
	if err != nil {
		return nil, err
	}
	defer End(c, b)
	after := int64(0)
	for _, p := range b.Parts {
		after = max(after, p.StampMs)
	}
	tallies := make([]Tally, len(b.Parts))
	err = eachPart(ctx, b, func(ctx context.Context, i int) error {
		tallies[i].AfterMs = after
		add := adder(&tallies[i])
		return ReadFile(&part{ctx: ctx, c: c, of: &b.Parts[i]}, Visitor{Key: func(db int, e *engine.Entry) error {
			if isMark(db, e) {
				return nil
			}
			return add(db, e)
		}})
	})
	sum := &Tally{AfterMs: after}
	for i := range tallies {
		sum.Merge(&tallies[i])
	}
	return sum, err
}

// eachPart reads all parts concurrently, because no part may wait long. The first error ends the
// others.
func eachPart(ctx context.Context, b *admin.Backup, read func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for i := range b.Parts {
		wait.Go(func() {
			if err := read(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// Holdings says what a cluster holds, or returns "" if it is empty. INFO would not be enough: it
// describes only the node, which may have just begun to follow.
func Holdings(ctx context.Context, c *redis.Client) (string, error) {
	sizes, err := sizesOf(ctx, c)
	if err != nil {
		return "", err
	}
	var held []string
	for db, size := range sizes {
		if n := size.Val(); n > 0 {
			held = append(held, fmt.Sprintf("db%d:keys=%d", db, n))
		}
	}
	n, err := c.Do(ctx, "FUNCTION", "LIST").Slice()
	if err != nil {
		return "", err
	}
	if len(n) > 0 {
		held = append(held, fmt.Sprintf("%d libraries of functions", len(n)))
	}
	return strings.Join(held, "; "), nil
}

// sizesOf counts the keys of each database, as reported by the shards' leaders.
func sizesOf(ctx context.Context, c *redis.Client) (sizes [engine.Databases]*redis.IntCmd, err error) {
	conn := c.Conn()
	defer conn.Close()
	_, err = conn.Pipelined(ctx, func(p redis.Pipeliner) error {
		for db := range sizes {
			p.Select(ctx, db)
			sizes[db] = p.DBSize(ctx)
		}
		p.Select(ctx, 0)
		return nil
	})
	return sizes, err
}
