package software

import (
	"testing"

	"lockstep/tests/kit/proc"
)

// npmRedislock runs the npm package redislock (R1 to R36, as far as they concern a server). The
// comments in redislock.js say which line shows which of them.
func npmRedislock(t *testing.T, addr string) { node(t, "redislock.js", addr) }

func bullMQ(t *testing.T, addr string) { node(t, "bullmq.js", addr) }

// TestSoftwareWithScripts runs software that sends Lua scripts. Each program also runs against
// redis-server, which shows that the test itself is right.
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
