package backup

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/certs"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// output collects the output of a running program.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// importer is a clusterctl import that follows a redis-server.
type importer struct {
	out   output
	stdin io.WriteCloser
	cmd   *exec.Cmd
	// ended is closed when the process has ended. err then holds the result.
	ended chan struct{}
	err   error
}

func startImport(t *testing.T, redis *proc.Process, node *proc.Node, args ...string) *importer {
	t.Helper()
	i := newImporter(t, node, "redis://"+redis.Addr(), args...)
	i.start(t)
	return i
}

// newImporter returns an importer that has not been started.
func newImporter(t *testing.T, node *proc.Node, from string, args ...string) *importer {
	t.Helper()
	args = append([]string{"-a", node.Addr(), "import", "--from", from, "--spool", t.TempDir()}, args...)
	return &importer{cmd: exec.Command(proc.Clusterctl(t), args...), ended: make(chan struct{})}
}

func (i *importer) start(t *testing.T) {
	t.Helper()
	i.cmd.Stdout, i.cmd.Stderr = &i.out, &i.out
	var err error
	if i.stdin, err = i.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := proc.StartMortal(i.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		i.err = i.cmd.Wait()
		close(i.ended)
	}()
	t.Cleanup(func() { _ = i.cmd.Process.Kill(); <-i.ended })
}

// wait waits until the process has ended, and returns its error.
func (i *importer) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-i.ended:
		return i.err
	case <-time.After(2 * patience):
		t.Fatalf("import does not end; it said %s", i.out.String())
		return nil
	}
}

func (i *importer) says(t *testing.T, text string, times int) {
	t.Helper()
	proc.Wait(t, patience, fmt.Sprintf("import says %q", text), func() bool {
		ended := false
		select {
		case <-i.ended:
			ended = true
		default:
		}
		said := strings.Count(i.out.String(), text) >= times
		if ended && !said {
			t.Fatalf("import ended (%v), and said %s", i.err, i.out.String())
		}
		return said
	})
}

// writeAll writes commands of many kinds until stop is set or the server refuses a write.
func writeAll(t *testing.T, addr string, w int, rounds *atomic.Int64, stop *atomic.Bool) {
	c := proc.Dial(t, addr)
	// The importer must get a chance to keep up on a slow machine.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; !stop.Load(); i++ {
		<-tick.C
		n, own := strconv.Itoa(i), fmt.Sprintf("{w%d}", w)
		for _, args := range [][]string{
			{"INCR", own + "count"}, {"SELECT", strconv.Itoa(i % 2 * 3)}, {"RPUSH", own + "list", n}, {"SPOP", own + "set"}, {"SADD", own + "set", n},
			{"SET", own + "gone", n, "PX", "1"}, {"SET", own + "later", n, "EX", "5000"}, {"XADD", own + "stream", "MAXLEN", "~", "200", "*", "f", n}, {"XADD", own + "stream", "MAXLEN", "~", "200", "LIMIT", "100", "*", "f", n},
			{"MULTI"}, {"INCR", own + "a"}, {"INCR", own + "b"}, {"EXEC"},
			{"MULTI"}, {"INCR", own + "x"}, {"INCR", "elsewhere" + strconv.Itoa(w)}, {"EXEC"},
			{"MSET", "m1" + own, n, "m2" + strconv.Itoa(w), n}, {"DEL", "m1" + own, "m2" + strconv.Itoa(w-1)},
			{"EVAL", "redis.call('hset', KEYS[1], 'f', math.random(1000)) return redis.call('lpop', KEYS[2])", "2", own + "hash", own + "list"},
			{"ZADD", own + "scores", n, "m" + strconv.Itoa(i%50)}, {"EXPIRE", own + "scores", "1000"},
		} {
			if v, err := c.Do(args...); err != nil || v.IsError() {
				if !stop.Load() {
					t.Errorf("%q: %v %v", args, v, err)
				}
				return
			}
		}
		rounds.Add(1)
	}
}

// TestARunningRedisIsCopiedUntilTheCutOver: clients write to a redis-server all the time, and the
// connections of its replicas are killed in the middle. The copy has no difference.
func TestARunningRedisIsCopiedUntilTheCutOver(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := proc.RedisServer(t, "--repl-backlog-size", "64mb")
	fill(t, redis.Addr())
	node := proc.NewNode(t, proc.Options{Shards: 3})
	var rounds atomic.Int64
	var stop atomic.Bool
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop.Store(true)
	for w := range 3 {
		wait.Go(func() { writeAll(t, redis.Addr(), w, &rounds, &stop) })
	}
	i := startImport(t, redis, node, "--pause", "2m")
	i.says(t, "following", 1)
	at := rounds.Load()
	proc.Wait(t, patience, "more is written", func() bool { return rounds.Load() > at+50 })
	proc.MustAsk(t, redis.Addr(), "CLIENT", "KILL", "TYPE", "replica")
	i.says(t, "goes on where it ended", 1)
	at = rounds.Load()
	proc.Wait(t, patience, "more is written", func() bool { return rounds.Load() > at+50 })
	if _, err := io.WriteString(i.stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	err := i.wait(t)
	if out := i.out.String(); err != nil || !strings.Contains(out, " 0 differ") || strings.Contains(out, "anew") {
		t.Fatalf("%v: %s", err, out)
	}
	if keys := sameKeys(t, redis, node); keys < 100 {
		t.Errorf("%d keys", keys)
	}
	stop.Store(true)
	proc.MustAsk(t, redis.Addr(), "CLIENT", "UNPAUSE")
	t.Logf("%d rounds of 22 commands; %s", rounds.Load(), lastLine(i.out.String()))
}

// sameKeys compares what can be read on both servers, key by key, and returns the number of keys.
// One digest of everything would not do: a redis-server whose writes are paused does not delete
// keys that have expired, and counts them in its digest.
func sameKeys(t *testing.T, redis, node interface{ Addr() string }) (keys int) {
	t.Helper()
	a, b := proc.Dial(t, redis.Addr()), proc.Dial(t, node.Addr())
	do := func(c *respconn.Conn, args ...string) respconn.Value {
		t.Helper()
		v, err := c.Do(args...)
		if err != nil || v.IsError() {
			t.Fatalf("%q: %s, %v", args, v, err)
		}
		return v
	}
	for db := range 16 {
		do(a, "SELECT", strconv.Itoa(db))
		do(b, "SELECT", strconv.Itoa(db))
		all := do(a, "KEYS", "*").Elems
		if n := len(do(b, "KEYS", "*").Elems); n != len(all) {
			t.Errorf("database %d has %d keys, redis-server's %d", db, n, len(all))
		}
		for _, k := range all {
			key := string(k.Bytes)
			if got, want := do(b, "DEBUG", "DIGEST-VALUE", key), do(a, "DEBUG", "DIGEST-VALUE", key); got.String() != want.String() {
				t.Errorf("database %d, %q: the digests are %s and %s", db, key, got, want)
			}
			if got, want := do(b, "PEXPIRETIME", key), do(a, "PEXPIRETIME", key); got.String() != want.String() {
				t.Errorf("database %d, %q: expires at %s and %s", db, key, got, want)
			}
			keys++
		}
	}
	return keys
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestACopyBeginsAnewWhereTheSourceHasForgotten: when the source no longer has the part of its
// replication stream that the copy lacks, the copy starts from the beginning, and ends with the
// same data.
func TestACopyBeginsAnewWhereTheSourceHasForgotten(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	// Like a server before Redis 7, this one cannot say when a key expires.
	redis := proc.RedisServer(t, "--rename-command", "PEXPIRETIME", "")
	node := proc.NewNode(t, proc.Options{Shards: 2})
	if out, code := proc.Ctl(t, node.Addr(), "import", "--from", "redis://:wrong@"+redis.Addr()); code != 4 || !strings.Contains(out, "nothing was done: the source refuses the password") {
		t.Errorf("exit %d, %s", code, out)
	}
	proc.MustAsk(t, redis.Addr(), "SET", "old", "1")
	i := startImport(t, redis, node, "--pause", "2m")
	i.says(t, "following", 1)
	proc.MustAsk(t, redis.Addr(), "SET", "stays", "1", "EX", "1000")
	// With another replication id the source cannot continue the stream that the importer has read
	// so far.
	proc.MustAsk(t, redis.Addr(), "DEBUG", "CHANGE-REPL-ID")
	proc.MustAsk(t, redis.Addr(), "DEL", "old")
	proc.MustAsk(t, redis.Addr(), "CLIENT", "KILL", "TYPE", "replica")
	i.says(t, "beginning anew", 1)
	i.says(t, "following", 2)
	i.cutOver(t)
	if got := proc.MustAsk(t, node.Addr(), "DBSIZE"); got != "1" {
		t.Errorf("%s keys: %s", got, i.out.String())
	}
}

// cutOver tells the import to cut over, and fails the test if the import ends with an error.
func (i *importer) cutOver(t *testing.T) {
	t.Helper()
	if err := i.end(t); err != nil {
		t.Fatalf("%v: %s", err, i.out.String())
	}
}

// end tells the import to cut over, and returns how the import ended.
func (i *importer) end(t *testing.T) error {
	t.Helper()
	if _, err := io.WriteString(i.stdin, "\n"); err != nil {
		t.Fatal(err)
	}
	return i.wait(t)
}

// TestTheComparisonFindsWhatDiffers: the import reports a value or a number of keys that differs at
// the end, and has an exit code for that.
func TestTheComparisonFindsWhatDiffers(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for _, c := range []struct {
		what, says string
		spoil      []string
	}{
		{"another value", "4 values compared, 1 differ", []string{"HSET", "b", "f", "other"}},
		{"a key too many", "db0 set:1", []string{"SADD", "strange", "m"}},
		{"a key too few", "4 values compared, 1 differ", []string{"DEL", "a"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			redis, node := proc.RedisServer(t), proc.NewNode(t, proc.Options{Shards: 2})
			for _, args := range [][]string{{"SET", "a", "1"}, {"HSET", "b", "f", "1"}, {"SET", "c", "1", "EX", "9000"}, {"RPUSH", "d", "1"}} {
				proc.MustAsk(t, redis.Addr(), args...)
			}
			i := startImport(t, redis, node, "--pause", "2m")
			i.says(t, "following", 1)
			proc.MustAsk(t, node.Addr(), c.spoil...)
			err := i.end(t)
			out := i.out.String()
			if code := i.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(out, c.says) || !strings.Contains(out, "these differ: [") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestASourceUnderTLS: the source speaks TLS and requires a password, which is given in the
// environment so that no list of processes shows it.
func TestASourceUnderTLS(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	own := certs.NewAuthority(t, "source")
	m := certs.NewMount(t, own.Issue(certs.Wish{}), own)
	port := strconv.Itoa(proc.FreePort(t))
	redis := proc.RedisServer(t, "--tls-port", port, "--tls-cert-file", m.Cert(), "--tls-key-file", m.Key(), "--tls-ca-cert-file", m.CA(), "--tls-auth-clients", "no")
	fill(t, redis.Addr())
	proc.MustAsk(t, redis.Addr(), "ACL", "SETUSER", "copier", "on", ">"+sesame, "allkeys", "+@all")
	node := proc.NewNode(t, proc.Options{})
	run := func(env ...string) *importer {
		i := newImporter(t, node, "rediss://copier@127.0.0.1:"+port)
		i.cmd.Env = append(os.Environ(), env...)
		i.start(t)
		return i
	}
	for says, env := range map[string][]string{
		"WRONGPASS":   {"SSL_CERT_FILE=" + m.CA(), "LOCKSTEP_SOURCE_PASSWORD=wrong"},
		"certificate": {"LOCKSTEP_SOURCE_PASSWORD=" + sesame},
	} {
		i := run(env...)
		if err := i.wait(t); i.cmd.ProcessState.ExitCode() != 4 || !strings.Contains(i.out.String(), says) {
			t.Errorf("%v: %s", err, i.out.String())
		}
	}
	i := run("SSL_CERT_FILE="+m.CA(), "LOCKSTEP_SOURCE_PASSWORD="+sesame)
	i.says(t, "following", 1)
	proc.MustAsk(t, redis.Addr(), "SET", "late", "1")
	i.cutOver(t)
	if strings.Contains(i.out.String(), sesame) {
		t.Errorf("it says the password: %s", i.out.String())
	}
	if got := proc.MustAsk(t, node.Addr(), "GET", "late"); got != "1" {
		t.Errorf("late is %q", got)
	}
}

// TestNothingExpiresBeforeTheCutOver: a copy that lags behind must not expire a key before the
// source says so. Otherwise it would lose keys that the source has prolonged meanwhile, or keep
// only a part of them.
func TestNothingExpiresBeforeTheCutOver(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := proc.RedisServer(t)
	node := proc.NewNode(t, proc.Options{Shards: 2})
	proc.MustAsk(t, redis.Addr(), "SET", "loaded", "1", "PX", "500000")
	i := startImport(t, redis, node, "--pause", "2m")
	i.says(t, "following", 1)
	if out, code := proc.Ctl(t, node.Addr(), "backup", t.TempDir()); code != 4 || !strings.Contains(out, "does not hold all of the copy of the running server") {
		t.Errorf("a backup of half a copy: exit %d, %s", code, out)
	}
	if err := i.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// One pipeline carries all of them, so that no pause of the machine comes between a short
	// expiry and the longer one.
	replies, err := proc.Dial(t, redis.Addr()).Pipeline([][]string{
		{"HSET", "session", "user", "ann"}, {"PEXPIRE", "session", "800"}, {"PEXPIRE", "session", "900000"}, {"HSET", "session", "cart", "3"},
		{"SET", "counter", "1", "PX", "800"}, {"GETEX", "counter", "EX", "900"}, {"INCR", "counter"},
		{"SETEX", "kept", "1", "1"}, {"PERSIST", "kept"}, {"COPY", "kept", "of{kept}"}, {"EXPIRE", "of{kept}", "900", "NX"}, {"EXPIRE", "of{kept}", "1000", "LT"},
		{"EVAL", "redis.call('set', KEYS[1], '1', 'px', '800') return redis.call('expire', KEYS[1], 900)", "1", "scripted"},
		{"SET", "short", "1", "PX", "900"}, {"SET", "witness", "1", "PX", "1000"},
	}...)
	if err != nil || slices.ContainsFunc(replies, respconn.Value.IsError) {
		t.Fatalf("%v, %v", replies, err)
	}
	proc.Wait(t, patience, "what was not prolonged is gone", func() bool { return proc.MustAsk(t, redis.Addr(), "EXISTS", "witness") == "0" })
	if err := i.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	i.cutOver(t)
	if keys := sameKeys(t, redis, node); keys != 6 {
		t.Errorf("%d keys", keys)
	}
	if got := proc.MustAsk(t, node.Addr(), "HGET", "session", "user"); got != "ann" {
		t.Errorf("half a session: %q", got)
	}
	mustCtl(t, node.Addr(), "backup", t.TempDir())
}

// TestASourceThatCannotBeCutOverIsRefused: the import refuses at its start a source that is a
// replica, and one whose writes it may not stop at the end.
func TestASourceThatCannotBeCutOverIsRefused(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := proc.RedisServer(t)
	replica := proc.RedisServer(t, "--replicaof", "127.0.0.1 "+strconv.Itoa(redis.Port))
	node := proc.NewNode(t, proc.Options{})
	proc.MustAsk(t, redis.Addr(), "ACL", "SETUSER", "copier", "on", ">word", "allkeys", "+@all", "-client|pause")
	for _, c := range []struct{ from, says string }{
		{"redis://" + replica.Addr(), "nothing was done: the source is a replica of 127.0.0.1:" + strconv.Itoa(redis.Port)},
		{"redis://copier:word@" + redis.Addr(), "nothing was done: the source does not stop writes"},
	} {
		if out, code := proc.Ctl(t, node.Addr(), "import", "--from", c.from); code != 4 || !strings.Contains(out, c.says) {
			t.Errorf("%s: exit %d, %s", c.from, code, out)
		}
	}
	// With --pause 0 a user who has stopped the writers can copy from the replica.
	proc.Wait(t, patience, "the replica follows", func() bool {
		return strings.Contains(proc.MustAsk(t, replica.Addr(), "INFO", "replication"), "master_link_status:up")
	})
	i := startImport(t, replica, node, "--pause", "0")
	i.says(t, "following", 1)
	i.cutOver(t)
}

// TestOneMasterOfARedisClusterIsRefused: one master of a Redis Cluster holds only a part of the
// keys.
func TestOneMasterOfARedisClusterIsRefused(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	var all []*proc.Process
	var ports []string
	for _, slots := range []string{"0 8191", "8192 16383"} {
		port := strconv.Itoa(proc.FreePort(t))
		p := proc.RedisServer(t, "--cluster-enabled", "yes", "--cluster-port", port)
		proc.MustAsk(t, p.Addr(), append([]string{"CLUSTER", "ADDSLOTSRANGE"}, strings.Fields(slots)...)...)
		all, ports = append(all, p), append(ports, port)
	}
	proc.MustAsk(t, all[0].Addr(), "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(all[1].Port), ports[1])
	proc.Wait(t, patience, "the two have met", func() bool {
		return strings.Contains(proc.MustAsk(t, all[0].Addr(), "CLUSTER", "INFO"), "cluster_size:2")
	})
	node := proc.NewNode(t, proc.Options{})
	if out, code := proc.Ctl(t, node.Addr(), "import", "--from", "redis://"+all[0].Addr()); code != 4 || !strings.Contains(out, "one of 2 masters of a Redis Cluster") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// TestAnErrorInsideATransactionEndsTheCopy: the copy fails when the cluster refuses a command
// inside a transaction, because the source has run that command.
func TestAnErrorInsideATransactionEndsTheCopy(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := proc.RedisServer(t)
	node := proc.NewNode(t, proc.Options{})
	proc.MustAsk(t, node.Addr(), "CONFIG", "SET", "proto-max-bulk-len", "1mb")
	i := startImport(t, redis, node)
	i.says(t, "following", 1)
	c := proc.Dial(t, redis.Addr())
	for _, args := range [][]string{{"MULTI"}, {"SET", "small", "1"}, {"SETRANGE", "large", "2000000", "x"}, {"EXEC"}} {
		proc.Do(t, c, args...)
	}
	err := i.wait(t)
	if out := i.out.String(); i.cmd.ProcessState.ExitCode() != 5 || !strings.Contains(out, "the cluster refuses a command of the source") {
		t.Errorf("%v: %s", err, out)
	}
}
