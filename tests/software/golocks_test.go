package software

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncpool "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// goRedis returns a client with long timeouts, so that it repeats no command because a busy machine
// is slow.
func goRedis(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: patience, WriteTimeout: patience, PoolSize: 20})
	t.Cleanup(func() { c.Close() })
	return c
}

// bsmRedislock takes, releases and extends locks by scripts.
func bsmRedislock(t *testing.T, addr string) {
	ctx, client := deadline(t), redislock.New(goRedis(t, addr))
	held, err := client.Obtain(ctx, "bsm:k", time.Minute, &redislock.Options{Metadata: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Obtain(ctx, "bsm:k", time.Minute, nil); !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("a lock that is held: %v", err)
	}
	if err := held.Refresh(ctx, 2*time.Minute, nil); err != nil {
		t.Error(err)
	}
	if left, err := held.TTL(ctx); err != nil || left <= time.Minute || left > 2*time.Minute {
		t.Errorf("%v left, %v", left, err)
	}
	waiting := make(chan error, 1)
	go func() {
		lock, err := client.Obtain(ctx, "bsm:k", time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(2 * time.Millisecond)})
		if err == nil {
			err = lock.Release(ctx)
		}
		waiting <- err
	}()
	if err := held.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := <-waiting; err != nil {
		t.Errorf("who waited: %v", err)
	}
	if err := held.Release(ctx); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("released twice: %v", err)
	}
}

// redsyncMutex runs the Redlock algorithm with one server.
func redsyncMutex(t *testing.T, addr string) {
	ctx, rs := deadline(t), redsync.New(redsyncpool.NewPool(goRedis(t, addr)))
	// With this factor the server may take as long as the lock lasts. By default it may take a
	// twentieth of that.
	slow := []redsync.Option{redsync.WithExpiry(time.Minute), redsync.WithTimeoutFactor(1)}
	a, b := rs.NewMutex("rs:k", slow...), rs.NewMutex("rs:k", append(slow, redsync.WithTries(2), redsync.WithRetryDelay(time.Millisecond))...)
	if err := a.LockContext(ctx); err != nil {
		t.Fatal(err)
	}
	var taken *redsync.ErrTaken
	if err := b.LockContext(ctx); !errors.As(err, &taken) {
		t.Errorf("a lock that is held: %v", err)
	}
	if ok, err := a.ExtendContext(ctx); !ok || err != nil {
		t.Errorf("extend: %v, %v", ok, err)
	}
	if ok, err := b.UnlockContext(ctx); ok {
		t.Errorf("another's lock was given back: %v", err)
	}
	if ok, err := a.UnlockContext(ctx); !ok || err != nil {
		t.Errorf("unlock: %v, %v", ok, err)
	}
	if err := b.LockContext(ctx); err != nil {
		t.Error(err)
	}
}

// asynqTasks runs tasks that are queued, delayed, retried and unique, all by scripts.
func asynqTasks(t *testing.T, addr string) {
	opt := asynq.RedisClientOpt{Addr: addr, ReadTimeout: patience, WriteTimeout: patience}
	client := asynq.NewClient(opt)
	defer client.Close()
	done := make(chan string, 16)
	server := asynq.NewServer(opt, asynq.Config{
		Concurrency: 4, LogLevel: asynq.FatalLevel, DelayedTaskCheckInterval: 50 * time.Millisecond,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 0 },
	})
	mux := asynq.NewServeMux()
	mux.HandleFunc("work", func(_ context.Context, task *asynq.Task) error { done <- string(task.Payload()); return nil })
	mux.HandleFunc("twice", func(ctx context.Context, task *asynq.Task) error {
		if n, _ := asynq.GetRetryCount(ctx); n == 0 {
			return errors.New("not yet")
		}
		done <- string(task.Payload())
		return nil
	})
	add := func(kind, payload string, opts ...asynq.Option) {
		t.Helper()
		if _, err := client.Enqueue(asynq.NewTask(kind, []byte(payload)), opts...); err != nil {
			t.Fatal(err)
		}
	}
	add("work", "now")
	add("work", "later", asynq.ProcessIn(time.Second))
	add("work", "once", asynq.Unique(time.Minute))
	if _, err := client.Enqueue(asynq.NewTask("work", []byte("once")), asynq.Unique(time.Minute)); !errors.Is(err, asynq.ErrDuplicateTask) {
		t.Errorf("a task that is there: %v", err)
	}
	add("twice", "again", asynq.MaxRetry(3))
	if err := server.Start(mux); err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	want := map[string]bool{"now": true, "later": true, "once": true, "again": true}
	for len(want) > 0 {
		select {
		case got := <-done:
			if !want[got] {
				t.Errorf("%s was done, and is not to be", got)
			}
			delete(want, got)
		case <-time.After(patience):
			t.Fatalf("not done: %v", want)
		}
	}
}
