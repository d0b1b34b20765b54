// Package migrate hands keys over between real clusters, and between those and
// redis-server, while others write to them.
package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/proc"
	"lockstep/tests/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

func dial(t *testing.T, addr string) *respconn.Conn {
	t.Helper()
	c, err := respconn.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func ask(t *testing.T, c *respconn.Conn, args ...string) string {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return v.String()
}

func to(port int, rest ...string) []string {
	return append([]string{"MIGRATE", "127.0.0.1", strconv.Itoa(port)}, rest...)
}

// TestThereAndBack moves a thousand keys of several shards from redis-server into
// a cluster of three, and through another of its nodes back.
func TestThereAndBack(t *testing.T) {
	redis := proc.RedisServer(t)
	c := proc.NewCluster(t, 3, proc.Options{Shards: 3})
	c.WaitLeader()
	source, in, out := dial(t, redis.Addr()), dial(t, c.Nodes[1].Addr()), dial(t, c.Nodes[2].Addr())
	for conn, password := range map[*respconn.Conn]string{source: "secret", in: "other"} {
		if got := ask(t, conn, "ACL", "SETUSER", "default", "resetpass", ">"+password); got != "+OK" {
			t.Fatal(got)
		}
	}
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprint("key", i))
		ask(t, source, "SET", keys[i], strings.Repeat("v", i), "PX", "1000000")
		if i%2 == 0 {
			ask(t, source, "DEL", keys[i])
			ask(t, source, "ZADD", keys[i], strconv.Itoa(i), "m", "1", "n")
		}
	}
	digest := ask(t, source, append([]string{"DEBUG", "DIGEST-VALUE"}, keys...)...)
	if got := ask(t, source, to(c.Nodes[0].Port, append([]string{"", "0", "30000", "AUTH", "other", "KEYS"}, keys...)...)...); got != "+OK" {
		t.Fatalf("into the cluster: %s", got)
	}
	if here, there := ask(t, source, "DBSIZE"), ask(t, in, "DBSIZE"); here != ":0" || there != ":1000" {
		t.Errorf("%s are there, %s are left", there, here)
	}
	if got := ask(t, in, to(redis.Port, append([]string{"", "0", "30000", "AUTH2", "default", "secret", "KEYS"}, keys[:500]...)...)...); got != "+OK" {
		t.Fatalf("back: %s", got)
	}
	if got := ask(t, out, to(redis.Port, append([]string{"", "0", "30000", "AUTH", "secret", "KEYS"}, keys[500:]...)...)...); got != "+OK" {
		t.Fatalf("back: %s", got)
	}
	if here, there := ask(t, in, "DBSIZE"), ask(t, source, "DBSIZE"); here != ":0" || there != ":1000" {
		t.Errorf("%s are back, %s are left", there, here)
	}
	if again := ask(t, source, append([]string{"DEBUG", "DIGEST-VALUE"}, keys...)...); again != digest {
		t.Error("the values have changed")
	}
}

// TestNothingWrittenIsLost writes to a key through one node while it is migrated
// through another, to a database after the other of redis-server. What was
// acknowledged is in one of them or still here, once: where MIGRATE said that it
// had changed, what the target has is thrown away.
func TestNothingWrittenIsLost(t *testing.T) {
	redis := proc.RedisServer(t)
	c := proc.NewCluster(t, 3, proc.Options{})
	c.WaitLeader()
	writer, mover, target := dial(t, c.Nodes[1].Addr()), dial(t, c.Nodes[2].Addr()), dial(t, redis.Addr())
	stop, written := make(chan struct{}), make(chan []string)
	go func() {
		var all []string
		defer func() { written <- all }()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			id := strconv.Itoa(i)
			if v, err := writer.Do("RPUSH", "k", id); err != nil || v.IsError() {
				t.Errorf("%v %v", v, err)
				return
			}
			all = append(all, id)
		}
	}()
	moved, changed, found := 0, 0, []string{}
	elements := func(c *respconn.Conn) {
		v, err := c.Do("LRANGE", "k", "0", "-1")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range v.Elems {
			found = append(found, string(e.Bytes))
		}
	}
	for tries := 0; (moved < 5 || changed < 5) && tries < 20_000; tries++ {
		switch got := ask(t, mover, to(redis.Port, "k", "0", "30000")...); {
		case got == "+NOKEY":
			continue
		case got == "+OK":
			moved++
			elements(target)
		case strings.HasPrefix(got, "-ERR 1 of 1 keys have changed"):
			changed++
		default:
			t.Fatal(got)
		}
		ask(t, target, "FLUSHALL")
	}
	close(stop)
	all := <-written
	elements(mover)
	// Each run of elements is in order, and so are the runs.
	if !slices.Equal(found, all) {
		t.Errorf("%d elements were written, %d found", len(all), len(found))
	}
	t.Logf("%d elements; %d times the key was moved, %d times it had changed", len(all), moved, changed)
	if changed == 0 || moved == 0 {
		t.Errorf("moved %d times, changed %d times", moved, changed)
	}
}
