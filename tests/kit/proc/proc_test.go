package proc

import "testing"

func TestMain(m *testing.M) { Main(m) }

func TestRedisServerAnswersStopsAndIsPaused(t *testing.T) {
	r := RedisServer(t)
	if r.RSS() == 0 || !r.Running() || r.Pid() == 0 {
		t.Errorf("rss %d, running %v", r.RSS(), r.Running())
	}
	if v := Info(r.Addr(), "server")["redis_mode"]; v != "standalone" {
		t.Errorf("redis_mode %q", v)
	}
	if code := r.Stop(); code != 0 || r.Running() {
		t.Errorf("exit status %d, running %v", code, r.Running())
	}
	r.Start()
	Wait(t, startPatience, "it answers again", func() bool { return Ping(r.Addr()) })
	r.Kill9()
	if Ping(r.Addr()) || r.Running() {
		t.Error("it lives after kill -9")
	}
}

func TestClusterHasOneLeaderAndAnotherWhenThatIsKilled(t *testing.T) {
	c := NewCluster(t, 3, Options{})
	c.WaitLeader()
	Wait(t, ElectionPatience, "the others follow", func() bool { return len(c.Followers()) == 2 })
	if _, err := Ask(c.Follower().Addr(), "SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	leader := c.WaitLeader()
	leader.Kill9()
	next := c.WaitLeader()
	if next == leader {
		t.Fatal("a dead node leads")
	}
	if v, err := Ask(next.Addr(), "GET", "k"); v != "v" {
		t.Errorf("%q, %v", v, err)
	}
	leader.Start()
	leader.WaitReady()
	for _, n := range c.Nodes {
		if code := n.Stop(); code != 0 {
			t.Errorf("%s: exit status %d after SIGTERM", n.Name, code)
		}
	}
}
