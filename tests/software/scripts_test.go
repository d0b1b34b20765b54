package software

import (
	"testing"

	"lockstep/tests/kit/proc"
)

// npmRedislock is the npm package of that name (R1 to R36, as far as a server has a
// part in them: redislock.js says which line shows what).
func npmRedislock(t *testing.T, addr string) { node(t, "redislock.js", addr) }

func bullMQ(t *testing.T, addr string) { node(t, "bullmq.js", addr) }

// TestSoftwareWithScripts is about software that sends Lua scripts. That each
// program is right, redis-server shows.
func TestSoftwareWithScripts(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	follower := proc.NewCluster(t, 3, proc.Options{}).Follower()
	for _, p := range []program{
		{"rate-limiter-flexible, exact windows", rateLimiterScripts}, {"Celery", celery},
		{"redis-py, locks", redisPyLocks}, {"redislock of npm", npmRedislock}, {"BullMQ", bullMQ},
		{"redislock of Go", bsmRedislock}, {"redsync", redsyncMutex}, {"asynq", asynqTasks},
		{"Sidekiq", sidekiq}, {"prometheus-redis-exporter, groups of keys", exporterGroups},
	} {
		t.Run(p.name+", redis-server", func(t *testing.T) { p.run(t, proc.RedisServer(t).Addr()) })
		t.Run(p.name, func(t *testing.T) {
			proc.MustAsk(t, follower.Addr(), "FLUSHALL")
			p.run(t, follower.Addr())
		})
	}
}
