package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/ports"
)

// oracle is a real redis-server that answers CONFIG.
type oracle struct {
	conn net.Conn
	in   *bufio.Reader
}

// startOracle starts redis-server with its own defaults, or skips the test.
func startOracle(t *testing.T) *oracle {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("SKIPPED: redis-server is not installed, nothing to compare with")
	}
	addr := ports.FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", "--port", port, "--dir", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	watchdog := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer watchdog.Stop()
	for log := bufio.NewScanner(out); ; {
		if !log.Scan() {
			t.Fatal("redis-server did not start")
		}
		if strings.Contains(log.Text(), "eady to accept connections") {
			break
		}
	}
	go io.Copy(io.Discard, out)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	return &oracle{conn, bufio.NewReader(conn)}
}

// do sends a command and returns the strings of the reply, or the error reply.
func (o *oracle) do(args ...string) ([]string, error) {
	fmt.Fprintf(o.conn, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(o.conn, "$%d\r\n%s\r\n", len(a), a)
	}
	return o.reply()
}

func (o *oracle) reply() ([]string, error) {
	line, err := o.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	body := strings.TrimRight(line[1:], "\r\n")
	switch line[0] {
	case '-':
		return nil, errors.New(body)
	case '$':
		n, _ := strconv.Atoi(body)
		bulk := make([]byte, n+2)
		_, err := io.ReadFull(o.in, bulk)
		return []string{string(bulk[:n])}, err
	case '*':
		var all []string
		for n, _ := strconv.Atoi(body); n > 0; n-- {
			one, err := o.reply()
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	}
	return []string{body}, nil
}

// TestEveryDirectiveOfRedisIsKnownWithItsDefault: what differs says why.
func TestEveryDirectiveOfRedisIsKnownWithItsDefault(t *testing.T) {
	reply, err := startOracle(t).do("CONFIG", "GET", "*")
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{"port": true, "dir": true}
	current := Default().Current()
	for i := 0; i < len(reply); i += 2 {
		name, value := reply[i], reply[i+1]
		d, ok := Lookup(name)
		if !ok {
			t.Errorf("%s of Redis has no row", name)
			continue
		}
		ours, _ := current.Value(d)
		if differs := ours != value; !own[name] && differs != (d.Differs != "") {
			t.Errorf("%s: %q here, %q in Redis; the row's reason for differing: %q", name, ours, value, d.Differs)
		}
	}
}

// TestConfigSetAnswersInRedisWords sends the same CONFIG SETs to both.
func TestConfigSetAnswersInRedisWords(t *testing.T) {
	redis, c := startOracle(t), Default()
	for _, args := range [][]string{
		{"nosuch", "1"}, {"nosuch", "1", "databases", "3"}, {"databases", "3", "nosuch", "1"},
		{"timeout", "1", "timeout", "2"}, {"timeout", "1", "TIMEOUT", "2"}, {"TimeOut", "x"},
		{"maxclients", "abc", "enable-debug-command", "yes"}, {"timeout", "abc", "maxclients", "abc"},
		{"timeout", "abc"}, {"timeout", "-1"}, {"timeout", "+1"}, {"timeout", "01"}, {"timeout", " 1"}, {"timeout", "1k"}, {"timeout", ""},
		{"timeout", "99999999999999999999"}, {"timeout", "7"}, {"maxclients", "0"}, {"maxclients", "-1"},
		{"slowlog-max-len", "-1"}, {"slowlog-log-slower-than", "-2"}, {"slowlog-log-slower-than", "-1"},
		{"maxmemory", "100xb"}, {"maxmemory", "-1"}, {"maxmemory", "1%"}, {"maxmemory", "1.5gb"}, {"maxmemory", " 1gb"},
		{"maxmemory", "1GB"}, {"maxmemory", "1k"}, {"maxmemory", "5b"},
		{"maxmemory-policy", "foo"}, {"maxmemory-policy", "ALLKEYS-LRU"}, {"protected-mode", "maybe"}, {"protected-mode", "NO"},
		{"loglevel", "loud"}, {"loglevel", "warning"}, {"cluster-preferred-endpoint-type", "foo"},
		{"notify-keyspace-events", "Q"}, {"notify-keyspace-events", "gKE$"},
		{"client-output-buffer-limit", "normal 1 2"}, {"client-output-buffer-limit", "foo 1 2 3"},
		{"client-output-buffer-limit", "normal a 2 3"}, {"client-output-buffer-limit", "normal 1 2 -3"},
		{"client-output-buffer-limit", "normal 1mb 2k 3 replica 1 2 3 pubsub 4 5 6"},
		{"save", "3600 1 300"}, {"save", "x y"}, {"save", "0 1"}, {"save", "3600 1 300 0"}, {"save", ""},
		{"client-query-buffer-limit", "1"},
		{"latency-tracking-info-percentiles", "50 101"}, {"latency-tracking-info-percentiles", "a"}, {"latency-tracking-info-percentiles", "50 99"},
		{"maxmemory-clients", "101%"}, {"maxmemory-clients", "5%"}, {"maxmemory-clients", "0%"}, {"maxmemory-clients", "05%"}, {"maxmemory-clients", "-1"}, {"maxmemory-clients", "%"}, {"maxmemory-clients", "2mb"}, {"active-expire-effort", "11"}, {"maxmemory-samples", "0"},
		{"repl-backlog-size", "0"}, {"list-max-ziplist-size", "abc"}, {"hash-max-ziplist-entries", "7"}, {"zset-max-listpack-value", "-1"},
		{"min-slaves-to-write", "-1"}, {"tcp-keepalive", "-1"}, {"shutdown-timeout", "-1"},
	} {
		pairs := make([]Pair, 0, len(args)/2)
		for i := 0; i < len(args); i += 2 {
			pairs = append(pairs, Pair{args[i], args[i+1]})
		}
		_, want := redis.do(append([]string{"CONFIG", "SET"}, args...)...)
		got := c.Set(pairs)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("CONFIG SET %q\n  here  %v\n  Redis %v", args, got, want)
			continue
		}
		if want != nil {
			continue
		}
		for _, p := range pairs {
			value, err := redis.do("CONFIG", "GET", p.Name)
			if err != nil {
				t.Fatal(err)
			}
			if ours := c.Get(p.Name); len(value) != 2 || ours[0] != (Pair{value[0], value[1]}) {
				t.Errorf("after CONFIG SET %q: %v here, %q in Redis", args, ours, value)
			}
		}
	}
}

// TestEventLettersPrintInRedisOrder tries every set of letters' neighbourhood.
func TestEventLettersPrintInRedisOrder(t *testing.T) {
	redis, c := startOracle(t), Default()
	for set := range EventClasses(1 << len(eventLetters)) {
		if set%37 != 0 && set|EventNew < EventAll {
			continue
		}
		value := formatEvents(set)
		if _, err := redis.do("CONFIG", "SET", "notify-keyspace-events", value); err != nil {
			t.Fatal(err)
		}
		reply, err := redis.do("CONFIG", "GET", "notify-keyspace-events")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Set([]Pair{{"notify-keyspace-events", value}}); err != nil {
			t.Fatal(err)
		}
		if ours := c.Get("notify-keyspace-events"); ours[0].Value != reply[1] || ours[0].Value != value {
			t.Fatalf("%q: %v here, %q in Redis", value, ours, reply)
		}
	}
}
