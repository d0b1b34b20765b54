package client_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/proto/tracking"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// talk records a conversation of several connections with one server. After each command every
// connection sends an ECHO, so that everything that was pushed before is read.
type talk struct {
	t     *testing.T
	addr  string
	conns map[string]*talker
	// ids are the ids of all connections so far, with their names.
	ids   map[string]string
	lines []string
	marks int
}

type talker struct {
	conn *respconn.Conn
	id   string
	// quiet is true if an echo would not be answered at once, or would end the effect of
	// CLIENT CACHING.
	quiet, multi bool
}

// runTalk runs lines "name command". "name new" and "name close" open and close a connection, and
// <name> stands for its id.
func runTalk(t *testing.T, addr, script string) []string {
	k := &talk{t: t, addr: addr, conns: map[string]*talker{}, ids: map[string]string{}}
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" {
			k.line(line)
		}
	}
	for _, c := range k.conns {
		c.conn.Close()
	}
	return k.lines
}

func (k *talk) line(line string) {
	who, command, _ := strings.Cut(line, " ")
	switch command {
	case "new":
		c := &talker{conn: prototest.Dial(k.t, k.addr)}
		c.id = strings.TrimPrefix(prototest.Do(k.t, c.conn, "CLIENT", "ID"), ":")
		k.conns[who], k.ids[c.id] = c, who
		return
	case "close":
		k.conns[who].conn.Close()
		delete(k.conns, who)
		// The server has noticed the end when the connection is no longer listed.
		probe := prototest.Dial(k.t, k.addr)
		defer probe.Close()
		prototest.Until(k.t, "the connection is gone", func() bool { return strings.Count(prototest.Do(k.t, probe, "CLIENT", "LIST"), "id=") == len(k.conns)+1 })
		return
	}
	for name, c := range k.conns {
		command = strings.ReplaceAll(command, "<"+name+">", c.id)
	}
	args, err := respconn.Split(command)
	if err != nil {
		k.t.Fatal(err)
	}
	c := k.conns[who]
	if err := c.conn.Send(args...); err != nil {
		k.t.Fatal(err)
	}
	switch word := strings.ToLower(args[0]); {
	case word == "multi":
		c.multi = true
	case word == "exec" || word == "discard" || word == "reset":
		c.multi, c.quiet = false, false
	default:
		c.quiet = word == "client"
	}
	k.lines = append(k.lines, line)
	// Once the connection has its reply, all pushes have been sent.
	k.hear(who, true)
	for _, name := range k.names() {
		if name != who {
			k.hear(name, false)
		}
	}
}

func (k *talk) names() []string {
	var names []string
	for name := range k.conns {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// hear records what a connection receives; if asked is set, at least up to its reply. Pushes come
// after all replies of a pipeline, so the ECHO is sent when the reply is there.
func (k *talk) hear(name string, asked bool) {
	c := k.conns[name]
	for asked {
		v := k.read(c)
		k.note(name, v)
		asked = strings.HasPrefix(v, ">2 ")
	}
	if c.quiet || c.multi {
		return
	}
	k.marks++
	mark := fmt.Sprintf("mark-%d", k.marks)
	if err := c.conn.Send("PING", mark); err != nil {
		k.t.Fatal(err)
	}
	for {
		v := k.read(c)
		if strings.Contains(v, mark) {
			return
		}
		k.note(name, v)
	}
}

func (k *talk) read(c *talker) string {
	v, err := c.conn.Read()
	if err != nil {
		k.t.Fatalf("behind %q: %v", k.lines[max(len(k.lines)-3, 0):], err)
	}
	return strings.Join(strings.Fields(v.String()), " ")
}

var (
	listed = regexp.MustCompile(`.*( flags=\S+).*( redir=\S+).*`)
	number = regexp.MustCompile(`("id" :|"redirect" :|broken" :|redir=|^:)\d+`)
)

func (k *talk) note(name, text string) {
	command := k.lines[len(k.lines)-1]
	if listed.MatchString(text) {
		text = listed.ReplaceAllString(text, "$1$2")
	}
	if strings.Contains(text, "redir") || strings.Contains(text, "\"proto\"") || strings.Contains(command, "getredir") {
		text = number.ReplaceAllStringFunc(text, func(s string) string {
			at := strings.LastIndexAny(s, ":=") + 1
			if who := k.ids[s[at:]]; who != "" {
				return s[:at] + "<" + who + ">"
			}
			return s
		})
	}
	k.lines = append(k.lines, "    "+name+": "+text)
}

var talks = map[string]string{
	"options": `
		a new
		b new
		a client tracking
		a client tracking foo
		a client tracking on foo
		a client tracking on redirect 99999
		a client tracking on redirect x
		a client tracking on redirect <b> redirect <b>
		a client tracking on redirect 0
		a client tracking on redirect
		a client tracking on prefix x
		a client tracking on bcast optin
		a client tracking on optin optout
		a client tracking on prefix x optin optout
		a client tracking on bcast prefix foo prefix fo
		a client tracking on bcast prefix foo prefix bar prefix fo
		a client tracking on bcast prefix foo prefix foo
		a client trackinginfo
		a client tracking on bcast prefix foo
		a client tracking on bcast prefix fo
		a client tracking on bcast prefix foobar
		a client tracking on bcast prefix bar prefix zoo
		a client trackinginfo
		a client tracking on
		a client trackinginfo
		a client tracking on bcast
		a client trackinginfo
		a client tracking off
		a client trackinginfo
		a client tracking on optin
		a client tracking on optout
		a client tracking on bcast
		a client trackinginfo
		a client tracking on
		a client caching yes
		a client caching no
		a client caching foo
		a client trackinginfo
		a client tracking off
		a client caching yes
		a client caching foo
		a client caching
		a client tracking off foo
		a client tracking off prefix x
		a client tracking off bcast optin
		a client tracking off redirect 99999
		a client getredir
		a client tracking on redirect <b>
		a client getredir
		a client trackinginfo
		a client info
		a client tracking on
		a client getredir
		a hello 3
		a client trackinginfo
		a client tracking on noloop optout
		a client trackinginfo
		a reset
		a client trackinginfo
		a client info`,
	"keys": `
		a new
		b new
		a hello 3
		a client tracking on
		a get k
		b set k 1
		b set k 2
		a get k
		a get k
		a set k 3
		a get k
		a mget k l m
		b mset m 1 k 1
		b set l 1
		a multi
		a get k
		a set k 4
		a set k 5
		a exec
		a get k
		b flushall
		a get k
		b flushdb
		a get k
		a flushall
		a set k v
		a get k
		b select 1
		b set k 1
		b select 0
		a ttl k
		b expire k 100
		a strlen k
		b persist k
		a exists k nokey
		b del k
		b del k
		b set nokey 1
		b set k 1
		a type k
		b rename k kk
		a get k
		a get kk
		b rename kk k
		a sort l
		b del l
		b lpush l 1
		a lrange l 0 -1
		b sort l store l
		a llen l
		b lpop l
		a llen l
		b lpop l
		a watch k
		b set k 1
		a unwatch
		a getex k
		b set k 2
		a object encoding k
		b append k x
		a strlen k
		b setrange k 0 y
		a getrange k 0 1
		b getdel k
		a hget h f
		b hset h f 1
		a hget h f
		b hset h f 1
		a hget h f
		b hdel h nof
		b hdel h f
		a smembers s
		b sadd s 1 2
		a scard s
		b sadd s 1
		b srem s 1 2
		a zrange z 0 -1
		b zadd z 1 m
		a zscore z m
		b zadd z 1 m
		b zincrby z 1 m
		a sinter s1 s2
		b sadd s2 1
		b sadd s1 1
		a sinter s1 s2
		b sinterstore s3 s1 s2
		b smove s1 s2 1
		a get ""
		b set "" 1
		a pfcount p
		b pfadd p 1
		a bitcount k
		b setbit k 1 1
		a get k
		b incr nok
		b incr k
		b set k 5
		a get k
		b incr k
		a client tracking off
		a get k
		b set k 1
		a client tracking on
		b set k 2
		a hello 2
		a get k
		b set k 3
		a hello 3
		a get k
		b set k 3`,
	"opt in": `
		a new
		b new
		a hello 3
		a client tracking on optin
		a get k
		b set k 1
		a client caching yes
		a client trackinginfo
		a ping
		a client trackinginfo
		a get k
		b set k 1
		a client caching yes
		a client getname
		a client trackinginfo
		a get k
		a get l
		a client trackinginfo
		b mset l 1 k 2
		a client caching yes
		a nosuchcommand
		a get k
		b set k 3
		a client caching yes
		a multi
		a get k
		a get k2
		a exec
		a client trackinginfo
		b mset k2 1 k 1
		a multi
		a get k2
		a client caching yes
		a get k
		a exec
		a get k2
		b mset k 2 k2 2`,
	"opt out": `
		a new
		b new
		a hello 3
		a client tracking on optout
		a client caching no
		a client trackinginfo
		a get k
		b set k 1
		a get k
		b set k 2
		a client caching no
		a multi
		a get k
		a exec
		b set k 1
		a multi
		a get k
		a client caching no
		a get l
		a exec
		b mset k 1 l 1`,
	"no loop": `
		a new
		b new
		a hello 3
		b hello 3
		b client tracking on
		a client tracking on noloop
		b get k
		a get k
		b set k 2
		a get k
		b get k
		b set k 2
		a get k
		a multi
		a set k 3
		a get k
		a exec
		b set k 1
		a get k
		a flushall
		a client tracking off
		a client tracking on bcast noloop
		b client tracking off
		b client tracking on bcast
		a set k 1
		b set k 1
		a mset x 1 y 2`,
	"broadcast": `
		a new
		b new
		a hello 3
		a client tracking on bcast
		a get k
		b mset c 1 b 2 a 3
		a set x 1
		a client info
		b multi
		b set z 1
		b set y 1
		b set z 2
		b exec
		b flushdb
		b del nokey
		a client tracking off
		a client tracking on bcast prefix q prefix p
		b mset p 1 q 1 p2 2 r 2 q2 2
		b del r
		b rename p r
		b rename r qq
		a client tracking off
		b set q 2`,
	"redirect": `
		a new
		b new
		a client tracking on redirect <b>
		a get k
		b set k 1
		b subscribe foo
		a get k
		a set k 3
		a flushall
		b unsubscribe foo
		a get k
		a set k 3
		b ssubscribe foo
		a get k
		a set k 4
		b psubscribe __redis__:*
		b sunsubscribe foo
		a get k
		a set k 4
		b punsubscribe
		b hello 3
		a get k
		a set k 3
		b client tracking on
		a get k
		b get k
		a set k 3
		a client tracking off
		b client tracking off
		a hello 3
		a client tracking on redirect <a>
		a get k
		b set k 5
		a client tracking on redirect <b> noloop
		a get k
		a set k 5
		a get k
		c new
		c set k 5
		c close
		b reset
		a get k
		b set k 4
		b subscribe c
		a client tracking off
		a client tracking on bcast redirect <b>
		a mset l 1 k 1
		a client info
		b close
		a client info
		a set k 3
		a client info
		a client trackinginfo
		a client getredir
		a client tracking on bcast
		a client trackinginfo
		a set k 3`,
	"transactions": `
		a new
		b new
		a hello 3
		a subscribe x
		a multi
		a client tracking on
		a exec
		a multi
		b client list id <a>
		a discard
		a multi
		a get k
		a client tracking off
		a exec
		b set k 1
		a client info
		a client tracking on
		a client no-evict on
		a multi
		a get k
		a discard
		b set k 1
		a watch w
		a multi
		a get k
		b set w 1
		a exec
		a client info`,
}

// With NOLOOP a client's own change keeps its registration, which may belong to a read after the
// change. Redis registers at the read, and removes the registration.
func TestOwnChangesLeaveRegistrationsStanding(t *testing.T) {
	n := prototest.StartNode(t, 1)
	var raw []byte
	for _, line := range []string{"HELLO 3", "CLIENT TRACKING ON NOLOOP", "GET k", "SET k 1", "GET k"} {
		raw = respconn.AppendCommand(raw, strings.Fields(line)...)
	}
	a, b := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	if err := a.Write(raw); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if got := readNext(t, a); strings.Contains(got, "invalidate") {
			t.Fatal(got)
		}
	}
	prototest.Do(t, b, "SET", "k", "2")
	if got := readNext(t, a); got != `>2 "invalidate" *1 "k"` {
		t.Error(got)
	}
}

// These are the differences from redis-server: see docs/compatibility.md.
func TestWhereTrackingDiffersFromRedis(t *testing.T) {
	n := prototest.StartNode(t, 1)
	a, b := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, a, "HELLO", "3")
	send := func(c *respconn.Conn, lines ...string) {
		t.Helper()
		var raw []byte
		for _, line := range lines {
			raw = respconn.AppendCommand(raw, strings.Fields(line)...)
		}
		if err := c.Write(raw); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(c *respconn.Conn, texts ...string) {
		t.Helper()
		for _, want := range texts {
			if got := readNext(t, c); got != want {
				t.Fatalf("told %s, not %s", got, want)
			}
		}
	}
	// If tracking begins in a transaction, invalidations follow for the values that are read then.
	send(a, "MULTI", "GET k", "CLIENT TRACKING ON", "MGET k l", "SET k 1", "EXEC")
	wants(a, "+OK", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "*4 (null) +OK *2 (null) (null) +OK",
		`>2 "invalidate" *1 "k"`, `>2 "invalidate" *1 "l"`)
	// Pushes come after the replies of a whole pipeline.
	send(a, "GET k", "SET k 2", "ECHO x")
	wants(a, `"1"`, "+OK", `"x"`, `>2 "invalidate" *1 "k"`)
	// Another database has other contents.
	send(a, "GET k")
	wants(a, `"2"`)
	prototest.Do(t, b, "SWAPDB", "0", "1")
	wants(a, `>2 "invalidate" (null)`)
	// A client of RESP2 gets RESP2, whatever protocol the tracking client uses.
	id := strings.TrimPrefix(prototest.Do(t, b, "CLIENT", "ID"), ":")
	send(b, "SUBSCRIBE c")
	wants(b, `*3 "subscribe" "c" :1`)
	send(a, "CLIENT TRACKING ON REDIRECT "+id, "FLUSHALL")
	wants(a, "+OK", "+OK")
	wants(b, `*3 "message" "__redis__:invalidate" (nil)`)
}

// If a client begins to listen by prefix in a transaction, invalidations follow for the values that
// are read then, as far as they match.
func TestWhatIsReadAsListeningBeginsIsInDoubt(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "HELLO", "3")
	for _, line := range []string{"MULTI", "CLIENT TRACKING ON BCAST PREFIX k", "MGET k l", "EXEC"} {
		prototest.Do(t, c, strings.Fields(line)...)
	}
	if err := c.Send("PING"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`>2 "invalidate" *1 "k"`, "+PONG"} {
		if got := readNext(t, c); got != want {
			t.Fatalf("told %s, not %s", got, want)
		}
	}
}

// Each client gets the same messages at the same moments as from redis-server.
func TestTrackingIsAsRedisDoesIt(t *testing.T) {
	ours, redis := prototest.StartNode(t, 1), prototest.StartRedis(t)
	for name, script := range talks {
		t.Run(name, func(t *testing.T) {
			want := strings.Join(runTalk(t, redis, script+"\na reset\na flushall"), "\n")
			got := strings.Join(runTalk(t, ours.Addr, script+"\na reset\na flushall"), "\n")
			if got != want {
				t.Errorf("\n%s", prototest.Difference(want, got))
			}
		})
	}
	prototest.Until(t, "nothing is left behind", func() bool { return ours.Exec.Tracking.Counts() == tracking.Counts{} })
}

// TestPrefixesAreBounded: a client with too many prefixes gets an error and keeps those it has. The
// last overlapping pair of many is found.
func TestPrefixesAreBounded(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	track := func(prefixes ...string) string {
		args := []string{"CLIENT", "TRACKING", "ON", "BCAST"}
		for _, p := range prefixes {
			args = append(args, "PREFIX", p)
		}
		return prototest.Do(t, c, args...)
	}
	prototest.Do(t, c, "HELLO", "3")
	many := make([]string, 1<<12)
	for i := range many {
		many[i] = fmt.Sprintf("%d:", i)
	}
	if got := track(many...); got != "+OK" {
		t.Fatalf("%d prefixes: %.100s", len(many), got)
	}
	if got := track("another"); got != "-ERR too many prefixes" {
		t.Errorf("one more: %s", got)
	}
	if got := n.Exec.Tracking.Counts().Prefixes; got != len(many) {
		t.Errorf("%d prefixes, want %d", got, len(many))
	}
	prototest.Do(t, c, "CLIENT", "TRACKING", "OFF")
	many[4095] = many[4000] + "x"
	if got, want := track(many...), "-ERR Prefix '4000:' overlaps with another provided prefix '4000:x'. Prefixes for a single client must not overlap."; got != want {
		t.Errorf("a pair that overlaps: %.150s", got)
	}
	half := strings.Repeat("x", 1<<19)
	if got := track("a"+half, "b"+half); got != "-ERR too many prefixes" {
		t.Errorf("a megabyte of prefixes: %.100s", got)
	}
}

// A push that came under one protocol is not sent under another one: after RESET and HELLO 2
// nothing follows that a client of RESP2 does not expect.
func TestNoPushBehindAChangeOfProtocol(t *testing.T) {
	n := prototest.StartNode(t, 1)
	for _, change := range [][]string{{"RESET"}, {"HELLO", "2"}} {
		c := prototest.Dial(t, n.Addr)
		prototest.Do(t, c, "HELLO", "3")
		prototest.Do(t, c, "CLIENT", "TRACKING", "ON")
		// CLIENT LIST runs the commands before it.
		replies, err := c.Pipeline([]string{"GET", "k"}, []string{"SET", "k", "v"}, []string{"CLIENT", "LIST"}, change, []string{"QUIT"})
		if err != nil || len(replies) != 5 || replies[4].String() != "+OK" {
			t.Fatal(replies, err)
		}
		if more, err := c.ReadToEnd(); err != nil || len(more) != 0 {
			t.Errorf("behind %s: %s, %v", change, more, err)
		}
	}
}
