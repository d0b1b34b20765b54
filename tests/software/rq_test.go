package software

import "testing"

// rq runs a worker with its scheduler, and a client that sends it jobs.
func rq(t *testing.T, addr string) {
	modules := []string{"redis", "rq"}
	background(t, python(t, modules, "-c", "from rq.cli import main; main()", "worker", "--with-scheduler", "--url", "redis://"+addr+"/0", "rq-test"))
	host, port := split(t, addr)
	wantWell(t, python(t, modules, "use_rq.py", host, port))
}
