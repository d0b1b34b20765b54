package software

import "testing"

// celery runs a worker with two processes and a client that sends it jobs. Celery restores jobs
// that a worker has taken and not done, under a lock that it releases by a script.
func celery(t *testing.T, addr string) {
	modules := []string{"redis", "celery"}
	broker := "BROKER=redis://" + addr + "/0"
	worker := python(t, modules, "-m", "celery", "-A", "tasks", "worker", "--concurrency", "2", "--loglevel", "info")
	worker.Env = append(worker.Env, broker)
	background(t, worker)
	user := python(t, modules, "use_celery.py")
	user.Env = append(user.Env, broker)
	wantWell(t, user)
}
