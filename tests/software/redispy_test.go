package software

import "testing"

func redisPy(t *testing.T, addr string) {
	host, port := split(t, addr)
	wantWell(t, python(t, []string{"redis"}, "py_redis.py", host, port))
}

// redisPyLocks releases and extends locks of redis-py, which it does by scripts.
func redisPyLocks(t *testing.T, addr string) {
	host, port := split(t, addr)
	wantWell(t, python(t, []string{"redis"}, "py_locks.py", host, port))
}
