package software

import "testing"

func redisPy(t *testing.T, addr string) {
	host, port := split(t, addr)
	wantWell(t, python(t, []string{"redis"}, "py_redis.py", host, port))
}

// A lock of redis-py is given back, and held on to, by scripts.
func redisPyLocks(t *testing.T, addr string) {
	host, port := split(t, addr)
	wantWell(t, python(t, []string{"redis"}, "py_locks.py", host, port))
}
