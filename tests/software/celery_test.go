package software

import "testing"

// A worker of two processes, and one who gives it work. What was taken and not
// done, Celery looks after under a lock that it gives back by a script.
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
