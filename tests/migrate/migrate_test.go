// Package migrate moves keys between real clusters, and between a cluster and redis-server,
// while other clients write to them.
package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 90 * time.Second

func to(port int, rest ...string) []string {
	return append([]string{"MIGRATE", "127.0.0.1", strconv.Itoa(port)}, rest...)
}

// TestThereAndBack moves a thousand keys of several shards from redis-server into a cluster of
// three nodes, and back through another node.
func TestThereAndBack(t *testing.T) {
	redis := proc.RedisServer(t)
	c := proc.NewCluster(t, 3, proc.Options{Shards: 3})
	c.WaitLeader()
	source, in, out := proc.Dial(t, redis.Addr()), proc.Dial(t, c.Nodes[1].Addr()), proc.Dial(t, c.Nodes[2].Addr())
	for conn, password := range map[*respconn.Conn]string{source: "secret", in: "other"} {
		if got := proc.Do(t, conn, "ACL", "SETUSER", "default", "resetpass", ">"+password); got != "+OK" {
			t.Fatal(got)
		}
	}
	proc.Wait(t, patience, "the node that redis-server asks knows the password", func() bool {
		_, err := proc.Ask(c.Nodes[0].Addr(), "PING")
		return err != nil && strings.Contains(err.Error(), "NOAUTH")
	})
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprint("key", i))
		proc.Do(t, source, "SET", keys[i], strings.Repeat("v", i), "PX", "1000000")
		if i%2 == 0 {
			proc.Do(t, source, "DEL", keys[i])
			proc.Do(t, source, "ZADD", keys[i], strconv.Itoa(i), "m", "1", "n")
		}
	}
	digest := proc.Do(t, source, append([]string{"DEBUG", "DIGEST-VALUE"}, keys...)...)
	if got := proc.Do(t, source, to(c.Nodes[0].Port, append([]string{"", "0", "30000", "AUTH", "other", "KEYS"}, keys...)...)...); got != "+OK" {
		t.Fatalf("into the cluster: %s", got)
	}
	if here, there := proc.Do(t, source, "DBSIZE"), proc.Do(t, in, "DBSIZE"); here != ":0" || there != ":1000" {
		t.Errorf("%s are there, %s are left", there, here)
	}
	if got := proc.Do(t, in, to(redis.Port, append([]string{"", "0", "30000", "AUTH2", "default", "secret", "KEYS"}, keys[:500]...)...)...); got != "+OK" {
		t.Fatalf("back: %s", got)
	}
	if got := proc.Do(t, out, to(redis.Port, append([]string{"", "0", "30000", "AUTH", "secret", "KEYS"}, keys[500:]...)...)...); got != "+OK" {
		t.Fatalf("back: %s", got)
	}
	if here, there := proc.Do(t, in, "DBSIZE"), proc.Do(t, source, "DBSIZE"); here != ":0" || there != ":1000" {
		t.Errorf("%s are back, %s are left", there, here)
	}
	if again := proc.Do(t, source, append([]string{"DEBUG", "DIGEST-VALUE"}, keys...)...); again != digest {
		t.Error("the values have changed")
	}
}

// TestNothingWrittenIsLost writes to a key through one node while another node migrates it to
// redis-server again and again. Every acknowledged write must be found once, in one of the copies
// there or still in the cluster. A copy does not count if MIGRATE reported that the key had
// changed.
func TestNothingWrittenIsLost(t *testing.T) {
	redis := proc.RedisServer(t)
	c := proc.NewCluster(t, 3, proc.Options{})
	c.WaitLeader()
	writer, mover, target := proc.Dial(t, c.Nodes[1].Addr()), proc.Dial(t, c.Nodes[2].Addr()), proc.Dial(t, redis.Addr())
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
	for end := time.Now().Add(patience); (moved < 5 || changed < 5) && time.Now().Before(end); {
		switch got := proc.Do(t, mover, to(redis.Port, "k", "0", "30000")...); {
		case got == "+NOKEY": // the writer has not written yet, or stands still
			continue
		case got == "+OK":
			moved++
			elements(target)
		case strings.HasPrefix(got, "-ERR 1 of 1 keys have changed"):
			changed++
		default:
			t.Fatal(got)
		}
		proc.Do(t, target, "FLUSHALL")
	}
	close(stop)
	all := <-written
	elements(mover)
	// The elements of each copy are in order, and so are the copies.
	if !slices.Equal(found, all) {
		t.Errorf("%d elements were written, %d found", len(all), len(found))
	}
	t.Logf("%d elements; %d times the key was moved, %d times it had changed", len(all), moved, changed)
	if changed == 0 || moved == 0 {
		t.Errorf("moved %d times, changed %d times", moved, changed)
	}
}
