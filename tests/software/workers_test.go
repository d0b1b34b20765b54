package software

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// goRedisWorkers tests three ways in which users of go-redis pass on work: lists, streams and
// channels.
func goRedisWorkers(t *testing.T, addr string) {
	c := goRedis(t, addr)
	t.Run("BLPOP", func(t *testing.T) { listWorkers(t, c) })
	t.Run("consumer group", func(t *testing.T) { groupWorkers(t, c) })
	t.Run("a consumer that died", func(t *testing.T) { deadConsumer(t, c) })
	t.Run("pubsub", func(t *testing.T) { channelWorkers(t, c) })
}

const jobs = 200

// tally counts how often each job was done. In the end that must be once for each.
type tally struct {
	mu   sync.Mutex
	done map[string]int
}

func (y *tally) add(job string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.done == nil {
		y.done = map[string]int{}
	}
	y.done[job]++
}

func (y *tally) wantAllOnce(t *testing.T) {
	t.Helper()
	for i := range jobs {
		if n := y.done[fmt.Sprint(i)]; n != 1 {
			t.Errorf("job %d was done %d times", i, n)
		}
	}
}

// listWorkers run workers that take jobs from two queues, the urgent one first, until they get the
// job "stop".
func listWorkers(t *testing.T, c *redis.Client) {
	ctx := deadline(t)
	var done tally
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				got, err := c.BLPop(ctx, 0, "work:urgent", "work:later").Result()
				if err != nil || len(got) != 2 {
					t.Errorf("%v, %v", got, err)
					return
				}
				if got[1] == "stop" {
					return
				}
				done.add(got[1])
			}
		})
	}
	for i := range jobs {
		queue := []string{"work:urgent", "work:later"}[i%2]
		must(t, c.RPush(ctx, queue, i).Err())
	}
	must(t, c.RPush(ctx, "work:later", "stop", "stop", "stop", "stop").Err())
	all.Wait()
	done.wantAllOnce(t)
}

func groupWorkers(t *testing.T, c *redis.Client) {
	ctx := deadline(t)
	must(t, c.XGroupCreateMkStream(ctx, "work:stream", "group", "$").Err())
	var done tally
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			read := &redis.XReadGroupArgs{Group: "group", Consumer: fmt.Sprint("consumer", i), Streams: []string{"work:stream", ">"}, Count: 5, Block: time.Second / 2}
			for over := int64(0); ; {
				streams, err := c.XReadGroup(ctx, read).Result()
				if errors.Is(err, redis.Nil) {
					if over == 1 {
						return // all jobs were written, and no more came
					}
					over, _ = c.Exists(ctx, "work:over").Result()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				for _, entry := range streams[0].Messages {
					done.add(entry.Values["job"].(string))
					must(t, c.XAck(ctx, "work:stream", "group", entry.ID).Err())
				}
			}
		})
	}
	for i := range jobs {
		must(t, c.XAdd(ctx, &redis.XAddArgs{Stream: "work:stream", MaxLen: 10000, Approx: true, Values: map[string]any{"job": i}}).Err())
	}
	must(t, c.Set(ctx, "work:over", 1, time.Minute).Err())
	all.Wait()
	done.wantAllOnce(t)
	groups, err := c.XInfoGroups(ctx, "work:stream").Result()
	must(t, err)
	if g := groups[0]; g.Pending != 0 || g.EntriesRead != jobs || g.Lag != 0 {
		t.Errorf("the group is %+v", g)
	}
}

// deadConsumer: a consumer has taken jobs and never comes back. Another consumer takes them over.
func deadConsumer(t *testing.T, c *redis.Client) {
	ctx := deadline(t)
	must(t, c.XGroupCreateMkStream(ctx, "work:left", "group", "0").Err())
	for i := range 10 {
		must(t, c.XAdd(ctx, &redis.XAddArgs{Stream: "work:left", Values: []string{"job", fmt.Sprint(i)}}).Err())
	}
	taken, err := c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "group", Consumer: "dead", Streams: []string{"work:left", ">"}, Count: 10}).Result()
	must(t, err)
	left := taken[0].Messages
	got, next, err := c.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: "work:left", Group: "group", Consumer: "heir", MinIdle: 0, Start: "0", Count: 4}).Result()
	must(t, err)
	if len(got) != 4 || next != left[4].ID {
		t.Errorf("the first four are %v, then comes %s", got, next)
	}
	pending, err := c.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: "work:left", Group: "group", Start: "-", End: "+", Count: 100, Consumer: "heir"}).Result()
	must(t, err)
	if len(pending) != 4 || pending[0].RetryCount != 2 {
		t.Errorf("the heir has %+v", pending)
	}
	if n, err := c.XGroupDelConsumer(ctx, "work:left", "group", "dead").Result(); n != 6 || err != nil {
		t.Errorf("the dead one had %d, %v", n, err)
	}
}

func channelWorkers(t *testing.T, c *redis.Client) {
	ctx := deadline(t)
	sub := c.Subscribe(ctx, "news")
	defer sub.Close()
	must(t, sub.PSubscribe(ctx, "news:*"))
	for range 2 {
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for i := range jobs {
		n, err := c.Publish(ctx, []string{"news", "news:sport"}[i%2], i).Result()
		if n != 1 || err != nil {
			t.Fatalf("message %d reached %d, %v", i, n, err)
		}
	}
	received := receive(ctx, sub.Channel(redis.WithChannelSize(jobs)), jobs)
	want := make([]string, jobs)
	for i := range want {
		want[i] = fmt.Sprint(i)
	}
	if !slices.Equal(received, want) {
		t.Errorf("received %v", received)
	}
}

// receive returns the next n messages, or fewer if the deadline passes first.
func receive(ctx context.Context, messages <-chan *redis.Message, n int) []string {
	var all []string
	for len(all) < n {
		select {
		case m := <-messages:
			all = append(all, m.Payload)
		case <-ctx.Done():
			return all
		}
	}
	return all
}
