package client_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"lockstep/cluster"
	"lockstep/fsm"
	"lockstep/proto/client"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// place is a server in these tests.
type place struct {
	*respconn.Conn
	host, port string
}

func placeAt(t testing.TB, addr string) place {
	host, port := prototest.Split(addr)
	return place{prototest.Dial(t, addr), host, port}
}

// to returns a MIGRATE command to a place.
func (p place) to(rest ...string) []string {
	return append([]string{"MIGRATE", p.host, p.port}, rest...)
}

// fillings make a key of each type.
var fillings = map[string][]string{
	"a string":             {"SET k hello"},
	"a number":             {"SET k 12345"},
	"a list":               {"RPUSH k a b 3"},
	"a set":                {"SADD k x y z"},
	"a set of numbers":     {"SADD k 1 2 3"},
	"a hash":               {"HSET k f v g 7"},
	"a sorted set":         {"ZADD k 1 a 2.5 b -inf c"},
	"a stream":             {"XADD k 1-1 f v", "XADD k 2-1 f w", "XGROUP CREATE k g 1-1", "XREADGROUP GROUP g me COUNT 1 STREAMS k >"},
	"a HyperLogLog":        {"PFADD k a b c"},
	"places":               {"GEOADD k 13.4 52.5 Berlin"},
	"one that will expire": {"SET k v PX 1000000"},
}

func fill(t *testing.T, p place, lines []string) {
	t.Helper()
	for _, line := range lines {
		if got := prototest.Do(t, p.Conn, strings.Fields(line)...); strings.HasPrefix(got, "-") {
			t.Fatalf("%s: %s", line, got)
		}
	}
}

// TestMigrateCarriesEveryType migrates keys of every type between nodes, and to and from
// redis-server. The target must have the same dump, or the type's own commands must give the same
// replies, and the source must have no key.
func TestMigrateCarriesEveryType(t *testing.T) {
	redis := placeAt(t, prototest.StartRedis(t))
	one, other := placeAt(t, prototest.StartNode(t, 3).Addr), placeAt(t, prototest.StartNode(t, 2).Addr)
	for _, way := range []struct {
		name     string
		from, to place
	}{{"node to node", one, other}, {"node to redis-server", one, redis}, {"redis-server to node", redis, other}} {
		for name, lines := range fillings {
			for _, p := range []place{way.from, way.to} {
				prototest.Do(t, p.Conn, "FLUSHALL")
			}
			fill(t, way.from, lines)
			before := told(t, way.from)
			if got := prototest.Do(t, way.from.Conn, way.to.to("k", "0", "60000")...); got != "+OK" {
				t.Errorf("%s, %s: %s", way.name, name, got)
				continue
			}
			if after := told(t, way.to); after != before {
				t.Errorf("%s, %s: it was\n%s\nand is\n%s", way.name, name, before, after)
			}
			if got := prototest.Do(t, way.from.Conn, "EXISTS", "k"); got != ":0" {
				t.Errorf("%s, %s: it is still there", way.name, name)
			}
			var left int
			_, err := fmt.Sscanf(prototest.Do(t, way.to.Conn, "PTTL", "k"), ":%d", &left)
			expires := strings.HasPrefix(name, "one that")
			if err != nil || !expires && left != -1 || expires && (left < 900_000 || left > 1_000_000) {
				t.Errorf("%s, %s: %d ms are left, %v", way.name, name, left, err)
			}
		}
	}
}

// told returns what the server reports about the key k.
func told(t *testing.T, p place) string {
	t.Helper()
	kind := prototest.Do(t, p.Conn, "TYPE", "k")
	look := map[string][]string{
		"+string": {"GET", "k"}, "+list": {"LRANGE", "k", "0", "-1"}, "+set": {"SORT", "k", "ALPHA"}, "+hash": {"HGETALL", "k"},
		"+zset": {"ZRANGE", "k", "0", "-1", "WITHSCORES"}, "+stream": {"XRANGE", "k", "-", "+"},
	}[kind]
	if look == nil {
		return kind
	}
	text := kind + "\n" + prototest.Do(t, p.Conn, look...)
	if kind == "+stream" {
		text += "\n" + prototest.Do(t, p.Conn, "XPENDING", "k", "g")
	}
	return text
}

// migrateScripts are conversations; TARGET and NOBODY stand for addresses.
var migrateScripts = map[string]string{
	"arguments": `
		SET a 1
		MIGRATE
		MIGRATE TARGET a 0
		MIGRATE TARGET a x 1000
		MIGRATE TARGET a 0 x
		MIGRATE TARGET a x y bar
		MIGRATE TARGET a 0 99999999999999999999
		MIGRATE TARGET a 0 1000 AUTH
		MIGRATE TARGET a 0 1000 AUTH2 x
		MIGRATE TARGET a 0 1000 COPY AUTH2 x
		MIGRATE TARGET a 0 1000 KEYS a
		MIGRATE TARGET a 0 1000 KEYS
		GET a`,
	"nothing to do": `
		MIGRATE TARGET "" 0 1000
		MIGRATE TARGET "" 0 1000 KEYS
		MIGRATE TARGET "" 0 1000 KEYS a b
		MIGRATE TARGET a 99 1000
		MIGRATE NOBODY a 0 1000 COPY REPLACE KEYS`,
	"copies and replaces": `
		SET a 1
		MIGRATE TARGET a 0 60000 COPY
		GET a
		MIGRATE TARGET a 0 60000 COPY
		MIGRATE TARGET a 0 60000
		GET a
		MIGRATE TARGET a 0 60000 copy REPLACE COPY
		MIGRATE TARGET a 0 60000 replace
		GET a
		MIGRATE TARGET a 0 60000`,
	"several keys": `
		SET b 2
		MIGRATE TARGET "" 0 60000 COPY KEYS b nothing
		SET a 1
		SET b 3
		SET c 3
		SET d 4
		MIGRATE TARGET "" 0 60000 KEYS a b c nothing d
		GET a
		GET b
		GET c
		GET d
		MIGRATE TARGET "" 0 60000 REPLACE KEYS b b b
		GET b`,
	"the same key twice": `
		SET a 1
		MIGRATE TARGET "" 0 60000 KEYS a a
		GET a`,
	"the key that has no name": `
		SET "" 1
		MIGRATE TARGET "" 0 60000
		GET ""`,
	"another database": `
		SELECT 3
		SET a 1
		MIGRATE TARGET a 7 60000
		MIGRATE TARGET a 99 60000
		SET a 1
		MIGRATE TARGET a 99 60000
		GET a`,
	"nobody there": `
		SET a 1
		MIGRATE NOBODY a 0 1000
		MIGRATE 127.0.0.1 words a 0 1000
		MIGRATE nobody.invalid 6379 a 0 1000
		MIGRATE NOBODY a 0 -1
		GET a`,
	"passwords": `
		SET a 1
		MIGRATE TARGET a 0 60000 AUTH secret
		MIGRATE TARGET a 0 60000 AUTH keys
		MIGRATE TARGET a 0 60000 AUTH2 nobody secret
		GET a
		MIGRATE TARGET a 0 60000 REPLACE`,
	"keys of it": `
		COMMAND GETKEYS MIGRATE h p a 0 1
		COMMAND GETKEYS MIGRATE h p "" 0 1
		COMMAND GETKEYS MIGRATE h p "" 0 1 KEYS a b c
		COMMAND GETKEYS MIGRATE h p "" 0 1 KEYS
		COMMAND GETKEYS MIGRATE h p x 0 1 KEYS
		COMMAND GETKEYS MIGRATE h p x 0 1 KEYS a b
		COMMAND GETKEYS MIGRATE h p "" 0 1 COPY REPLACE keys a
		COMMAND GETKEYS MIGRATE h p "" 0 1 AUTH keys KEYS a b
		COMMAND GETKEYS MIGRATE h p "" 0 1 AUTH keys a b
		COMMAND GETKEYS MIGRATE h p "" 0 1 AUTH2 keys keys KEYS a b
		COMMAND GETKEYS MIGRATE h p "" 0 1 AUTH keys
		COMMAND GETKEYS MIGRATE h p "" 0 1 AUTH keys KEYS
		COMMAND GETKEYS MIGRATE h p "" 0 1 other KEYS a
		COMMAND GETKEYS MIGRATE h p x 0 1 other
		COMMAND GETKEYSANDFLAGS MIGRATE h p "" 0 1 KEYS a b
		COMMAND GETKEYSANDFLAGS MIGRATE h p a 0 1 COPY`,
	"users": `
		ACL SETUSER default resetkeys ~a* %R~r* -@all +migrate +set
		SET a 1
		MIGRATE TARGET "" 0 60000 KEYS a aa
		MIGRATE TARGET "" 0 60000 KEYS a b
		MIGRATE TARGET r 0 60000
		MIGRATE TARGET b 0 60000
		MIGRATE TARGET "" 0 60000`,
}

// TestMigrateAnswersAsRedis runs the scripts on redis-server and on a node, with an empty
// redis-server and with a node as the target.
func TestMigrateAnswersAsRedis(t *testing.T) {
	for name, script := range migrateScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := func(source, target string) string {
				text := script
				for word, addr := range map[string]string{"TARGET": target, "NOBODY": ports.FreeAddr(t)} {
					host, port := prototest.Split(addr)
					text = strings.ReplaceAll(text, word, host+" "+port)
				}
				said := prototest.Conversation(t, source, prototest.Commands(t, text))
				return said + prototest.Conversation(t, target, prototest.Commands(t, "MGET a b c d \"\"\nSELECT 7\nGET a"))
			}
			want := play(prototest.StartRedis(t), prototest.StartRedis(t))
			if got := play(prototest.StartNode(t, 3).Addr, prototest.StartRedis(t)); got != want {
				t.Errorf("to redis-server:\n%s", prototest.Difference(want, got))
			}
			if got := play(prototest.StartNode(t, 2).Addr, prototest.StartNode(t, 1).Addr); got != want {
				t.Errorf("to a node:\n%s", prototest.Difference(want, got))
			}
		})
	}
}

// TestMigrateLogsIn migrates keys with a password and with a user name, from and to a node and
// redis-server.
func TestMigrateLogsIn(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.RequirePass = "secret" })
	targets := []place{placeAt(t, n.Addr), placeAt(t, prototest.StartRedis(t, "--requirepass", "secret"))}
	sources := []place{placeAt(t, prototest.StartNode(t, 1).Addr), placeAt(t, prototest.StartRedis(t))}
	for _, target := range targets {
		if got := prototest.Do(t, target.Conn, "AUTH", "secret"); got != "+OK" {
			t.Fatal(got)
		}
		prototest.Do(t, target.Conn, "ACL", "SETUSER", "ann", "on", ">hers", "~k*", "+restore", "+select")
		for _, source := range sources {
			for _, step := range []struct{ auth, want string }{
				{"", "-ERR Target instance replied with error: NOAUTH Authentication required."},
				{"AUTH wrong", "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled."},
				{"AUTH2 ann secret", "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled."},
				{"AUTH secret", "+OK"},
				{"AUTH2 ann hers", "+OK"},
			} {
				prototest.Do(t, target.Conn, "DEL", "k")
				prototest.Do(t, source.Conn, "SET", "k", "v")
				got := prototest.Do(t, source.Conn, target.to(append([]string{"k", "0", "60000"}, strings.Fields(step.auth)...)...)...)
				if got != step.want {
					t.Errorf("%s: %s", step.auth, got)
				}
				here, there := prototest.Do(t, source.Conn, "EXISTS", "k"), prototest.Do(t, target.Conn, "EXISTS", "k")
				if went := step.want == "+OK"; went != (here == ":0") || went != (there == ":1") {
					t.Errorf("%s: %s here and %s there", step.auth, here, there)
				}
			}
		}
	}
}

// stubborn is a target whose answers the test chooses.
type stubborn struct {
	place
	commands atomic.Int64
}

// startStubborn answers the n-th command of a connection with answer(n, args). If that is "", it
// sends no answer.
func startStubborn(t *testing.T, answer func(n int, args []string) string) *stubborn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &stubborn{}
	s.host, s.port = prototest.Split(l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn, answer)
		}
	}()
	return s
}

func (s *stubborn) serve(conn net.Conn, answer func(int, []string) string) {
	defer conn.Close()
	c := respconn.New(conn)
	for n := 0; ; n++ {
		v, err := c.Read()
		if err != nil {
			return
		}
		var args []string
		for _, e := range v.Elems {
			args = append(args, string(e.Bytes))
		}
		s.commands.Add(1)
		text := answer(n, args)
		if text == "close" {
			return
		}
		if text != "" && c.Write([]byte(text+"\r\n")) != nil {
			return
		}
	}
}

// TestMigrateKeepsWhatIsNotKnown has targets that fall silent, disconnect, or are not Redis at all:
// only keys that were acknowledged are deleted. On a busy machine a short timeout may end the
// MIGRATE before the target falls silent; then the test repeats it with a longer one.
func TestMigrateKeepsWhatIsNotKnown(t *testing.T) {
	const reading = "-IOERR error or timeout reading to target instance"
	at := func(n int, text string) func(int, []string) string {
		return func(i int, _ []string) string {
			if i >= n {
				return text
			}
			return "+OK"
		}
	}
	for name, step := range map[string]struct {
		answer func(int, []string) string
		want   string
		left   string
	}{
		"silent from the beginning": {at(0, ""), reading, ":4"},
		"silent at the first key":   {at(1, ""), reading, ":4"},
		"silent at the third key":   {at(3, ""), reading, ":2"},
		"gone at the second key":    {at(2, "close"), reading, ":3"},
		"no Redis":                  {at(1, "HTTP/1.1 400 Bad Request"), reading, ":4"},
		"an answer without an end":  {at(1, strings.Repeat("x", 100_000)), reading, ":4"},
		"another kind of answer":    {at(1, ":1"), reading, ":4"},
		"refuses one": {func(i int, args []string) string {
			if args[0] == "RESTORE" && args[1] == "b" {
				return "-OOM no room"
			}
			return "+OK"
		}, "-ERR Target instance replied with error: OOM no room", ":1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, target := placeAt(t, prototest.StartNode(t, 1).Addr), startStubborn(t, step.answer)
			timeoutMs := 60_000
			if strings.HasPrefix(name, "silent") {
				timeoutMs = 100
			}
			for ; ; timeoutMs *= 10 {
				prototest.Do(t, source.Conn, "MSET", "a", "1", "b", "2", "c", "3", "d", "4")
				got := prototest.Do(t, source.Conn, target.to("", "0", strconv.Itoa(timeoutMs), "KEYS", "a", "b", "c", "d")...)
				left := prototest.Do(t, source.Conn, "EXISTS", "a", "b", "c", "d")
				if early := strings.HasPrefix(got, "-IOERR ") && left >= step.left; early && (got != step.want || left != step.left) && timeoutMs < 60_000 {
					continue
				}
				if got != step.want || left != step.left {
					t.Errorf("%s, and %s keys are left, want %s and %s", got, left, step.want, step.left)
				}
				return
			}
		})
	}
}

// TestMigrateKeepsWhatCameBetween changes keys after they were dumped and before they would be
// deleted: no write is lost, and the reply says so.
func TestMigrateKeepsWhatCameBetween(t *testing.T) {
	for name, change := range map[string]string{
		"a write":      "APPEND a x",
		"an expiry":    "PEXPIRE a 1000000",
		"come anew":    "SET a 1",
		"a name given": "RENAME b a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := prototest.StartNode(t, 1)
			source, writer := placeAt(t, n.Addr), prototest.Dial(t, n.Addr)
			target := startStubborn(t, func(_ int, args []string) string {
				if args[0] == "RESTORE" {
					if _, err := writer.Do(strings.Fields(change)...); err != nil {
						return "-" + err.Error()
					}
				}
				return "+OK"
			})
			prototest.Do(t, source.Conn, "MSET", "a", "1", "b", "2")
			got := prototest.Do(t, source.Conn, target.to("a", "0", "60000")...)
			const want = "-ERR 1 of 1 keys have changed since they were sent: what they are now was left alone, and the target has what they were; MIGRATE them again with REPLACE"
			if got != want {
				t.Errorf("%s", got)
			}
			if got := prototest.Do(t, source.Conn, "EXISTS", "a"); got != ":1" {
				t.Error("what was written is gone")
			}
		})
	}
	t.Run("gone meanwhile", func(t *testing.T) {
		n := prototest.StartNode(t, 1)
		source, writer := placeAt(t, n.Addr), prototest.Dial(t, n.Addr)
		target := startStubborn(t, func(_ int, args []string) string {
			if args[0] == "RESTORE" {
				_, _ = writer.Do("DEL", "a")
			}
			return "+OK"
		})
		prototest.Do(t, source.Conn, "SET", "a", "1")
		// The target has a key that was deleted at the source: the reply says so.
		if got := prototest.Do(t, source.Conn, target.to("a", "0", "60000")...); !strings.HasPrefix(got, "-ERR 1 of 1 keys have changed") {
			t.Errorf("%s", got)
		}
	})
}

// TestMigrateToItself migrates a key to its own node: the command is refused, or the key stays.
func TestMigrateToItself(t *testing.T) {
	n := placeAt(t, prototest.StartNode(t, 2).Addr)
	prototest.Do(t, n.Conn, "SET", "a", "1")
	for _, step := range []struct{ rest, want string }{
		{"a 0 60000", "-ERR Target instance replied with error: BUSYKEY Target key name already exists."},
		{"a 0 60000 COPY REPLACE", "+OK"},
		{"a 0 60000 REPLACE", "-ERR 1 of 1 keys have changed"},
		{"a 5 60000", "+OK"},
	} {
		if got := prototest.Do(t, n.Conn, n.to(strings.Fields(step.rest)...)...); !strings.HasPrefix(got, step.want) {
			t.Errorf("%s: %s", step.rest, got)
		}
		if got := prototest.Do(t, n.Conn, "EXISTS", "a"); (got == ":1") != (step.rest != "a 5 60000") {
			t.Errorf("%s: %s", step.rest, got)
		}
	}
	prototest.Do(t, n.Conn, "SELECT", "5")
	if got := prototest.Do(t, n.Conn, "GET", "a"); got != `"1"` {
		t.Error(got)
	}
}

// TestMigrateOfManyKeys migrates more keys than one run has, from all shards.
func TestMigrateOfManyKeys(t *testing.T) {
	source, target := placeAt(t, prototest.StartNode(t, 3).Addr), placeAt(t, prototest.StartRedis(t))
	args := target.to("", "0", "60000", "KEYS")
	for i := range 1000 {
		key := fmt.Sprint("key", i)
		prototest.Do(t, source.Conn, "SET", key, strings.Repeat("v", i))
		args = append(args, key)
	}
	if got := prototest.Do(t, source.Conn, args...); got != "+OK" {
		t.Fatal(got)
	}
	if here, there := prototest.Do(t, source.Conn, "DBSIZE"), prototest.Do(t, target.Conn, "DBSIZE"); here != ":0" || there != ":1000" {
		t.Errorf("%s here, %s there", here, there)
	}
}

// TestMigrateOfALargeValue sends more than one chunk to a target that reads slowly.
func TestMigrateOfALargeValue(t *testing.T) {
	source, target := placeAt(t, prototest.StartNode(t, 1).Addr), placeAt(t, prototest.StartRedis(t))
	value := strings.Repeat("0123456789abcdef", 1<<20)
	prototest.Do(t, source.Conn, "SET", "a", value)
	if got := prototest.Do(t, source.Conn, target.to("a", "0", "60000")...); got != "+OK" {
		t.Fatal(got)
	}
	if v, err := target.Do("GET", "a"); err != nil || string(v.Bytes) != value {
		t.Errorf("%d bytes have come, %v", len(v.Bytes), err)
	}
}

// TestMigrateHoldsNobodyUp has a silent target: other clients of the node continue, one MIGRATE too
// many is refused, and a client that disconnects ends its own at once.
func TestMigrateHoldsNobodyUp(t *testing.T) {
	n := prototest.StartNode(t, 1)
	target := startStubborn(t, func(int, []string) string { return "" })
	other := prototest.Dial(t, n.Addr)
	prototest.Do(t, other, "SET", "a", "1")
	var waiting []*respconn.Conn
	for i := range 8 {
		c := prototest.Dial(t, n.Addr)
		waiting = append(waiting, c)
		if err := c.Send(target.to("a", "0", "3600000")...); err != nil {
			t.Fatal(err)
		}
		prototest.Until(t, "the target is asked", func() bool { return target.commands.Load() == int64(i)+1 })
	}
	if got := prototest.Do(t, other, "INCR", "a"); got != ":2" {
		t.Error(got)
	}
	const full = "-OVERLOADED too many commands are waiting; this one was not executed"
	if got := prototest.Do(t, other, target.to("a", "0", "10")...); got != full {
		t.Error(got)
	}
	for _, c := range waiting[:4] {
		c.Close()
	}
	// Otherwise these would last an hour.
	prototest.Until(t, "they are forgotten", func() bool { return n.Registry.Len() == 5 })
	prototest.Until(t, "places are free again", func() bool {
		return prototest.Do(t, other, target.to("a", "0", "10")...) == "-IOERR error or timeout reading to target instance"
	})
	if got := prototest.Do(t, other, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"); got != ":4" {
		t.Error(got)
	}
	prototest.Until(t, "all are gone", func() bool { return n.Registry.Len() == 1 })
	if got := prototest.Do(t, other, "GET", "a"); got != `"2"` {
		t.Error(got)
	}
}

// TestMigrateIsNoPartOfATransaction: MIGRATE is refused when it is queued.
func TestMigrateIsNoPartOfATransaction(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c, target := prototest.Dial(t, n.Addr), placeAt(t, prototest.StartNode(t, 1).Addr)
	for _, step := range []struct{ command, want string }{
		{"SET a 1", "+OK"}, {"MULTI", "+OK"}, {"INCR a", "+QUEUED"},
		{strings.Join(target.to("a", "0", "60000"), " "), "-ERR MIGRATE cannot be part of a transaction: it waits for another server"},
		{"EXEC", "-EXECABORT Transaction discarded because of previous errors."}, {"GET a", `"1"`},
	} {
		if got := prototest.Do(t, c, strings.Fields(step.command)...); got != step.want {
			t.Errorf("%s: %s", step.command, got)
		}
	}
}

// TestMigrateBetweenOthers sends MIGRATE in a pipeline: the commands before it are answered at
// once, and every reply comes at its place.
func TestMigrateBetweenOthers(t *testing.T) {
	source, target := placeAt(t, prototest.StartNode(t, 1).Addr), placeAt(t, prototest.StartNode(t, 1).Addr)
	got, err := source.Pipeline([]string{"SET", "a", "1"}, []string{"ECHO", strings.Repeat("x", 1000)}, target.to("a", "0", "60000"), []string{"GET", "a"})
	if err != nil || len(got) != 4 || got[0].String() != "+OK" || got[2].String() != "+OK" || !got[3].Null {
		t.Errorf("%v %v", got, err)
	}
}

// TestMigrateDoesNotShowPasswords checks the slow log and MONITOR.
func TestMigrateDoesNotShowPasswords(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.SlowerThanUs = 0 })
	c, watcher := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, watcher, "MONITOR")
	prototest.Do(t, c, "MIGRATE", "127.0.0.1", "1", "a", "0", "10", "AUTH2", "ann", "hers")
	seen, err := watcher.Read()
	log := prototest.Do(t, c, "SLOWLOG", "GET", "1")
	for _, text := range []string{seen.String(), log} {
		if err != nil || strings.Contains(text, "hers") || !strings.Contains(text, "(redacted)") {
			t.Errorf("%s %v", text, err)
		}
	}
}

// TestMigrateSaysWhatCouldNotBeDeleted loses the shard after the target has taken the key.
func TestMigrateSaysWhatCouldNotBeDeleted(t *testing.T) {
	for err, want := range map[error]string{
		cluster.ErrUnknown:  "-INDETERMINATE the target has taken 1 keys that may still be here: INDETERMINATE the command may or may not have been executed",
		cluster.ErrNoLeader: "-ERR the target has taken 1 keys that are still here: CLUSTERDOWN no leader for this slot; the command was not executed",
	} {
		n := prototest.StartNode(t, 1)
		source, target := placeAt(t, n.Addr), placeAt(t, prototest.StartNode(t, 1).Addr)
		prototest.Do(t, source.Conn, "SET", "a", "1")
		lost := func(_ int, c *cluster.Call) error { return when(c.Txn.Kind == fsm.KindExec, err) }
		n.Exec.Lost.Store(&lost)
		if got := prototest.Do(t, source.Conn, target.to("a", "0", "60000")...); got != want {
			t.Errorf("%s", got)
		}
		all := func(int, *cluster.Call) error { return cluster.ErrNoLeader }
		n.Exec.Lost.Store(&all)
		if got := prototest.Do(t, source.Conn, target.to("a", "0", "60000")...); got != "-CLUSTERDOWN no leader for this slot; the command was not executed" {
			t.Errorf("%s", got)
		}
	}
}

// TestMigrateWherePointed: cluster clients are redirected to the node that leads.
func TestMigrateWherePointed(t *testing.T) {
	n := prototest.StartNode(t, 2)
	c, target := prototest.Dial(t, n.Addr), placeAt(t, prototest.StartNode(t, 1).Addr)
	n.Set(func(s *client.Settings) { s.Redirect = true })
	n.Elsewhere.Store(0, "elsewhere:1")
	n.Elsewhere.Store(1, "elsewhere:1")
	if got := prototest.Do(t, c, target.to("", "0", "60000", "KEYS", "{x}a", "{x}b")...); !strings.HasPrefix(got, "-MOVED ") {
		t.Error(got)
	}
}

// TestMigrateSendsNothingToWhoRefused: a key must not be sent to another database, nor to a server
// that refused the login. Redis sends it all the same.
func TestMigrateSendsNothingToWhoRefused(t *testing.T) {
	source, target := placeAt(t, prototest.StartNode(t, 1).Addr), placeAt(t, prototest.StartRedis(t))
	prototest.Do(t, source.Conn, "SET", "a", "1")
	for _, rest := range []string{"a 99 60000", "a -1 60000", "a 0 60000 AUTH x"} {
		if got := prototest.Do(t, source.Conn, target.to(strings.Fields(rest)...)...); !strings.HasPrefix(got, "-ERR Target instance replied with error: ") {
			t.Errorf("%s: %s", rest, got)
		}
		if got := prototest.Do(t, target.Conn, "EXISTS", "a"); got != ":0" {
			t.Errorf("%s: the target has it", rest)
		}
	}
}

// A node of a Redis Cluster migrates keys with RESTORE-ASKING.
func TestARedisClusterMigratesToANode(t *testing.T) {
	_, bus := prototest.Split(ports.FreeAddr(t))
	cluster := placeAt(t, prototest.StartRedis(t, "--cluster-enabled", "yes", "--cluster-port", bus))
	node := placeAt(t, prototest.StartNode(t, 3).Addr)
	prototest.Do(t, cluster.Conn, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	prototest.Until(t, "the cluster is one", func() bool {
		return strings.Contains(prototest.Do(t, cluster.Conn, "CLUSTER", "INFO"), "cluster_state:ok")
	})
	for name, lines := range fillings {
		prototest.Do(t, cluster.Conn, "FLUSHALL")
		fill(t, cluster, lines)
		before := told(t, cluster)
		if got := prototest.Do(t, cluster.Conn, node.to("k", "0", "60000", "REPLACE")...); got != "+OK" {
			t.Errorf("%s: %s", name, got)
		}
		if after := told(t, node); after != before {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, before, after)
		}
	}
}

// RESTORE-ASKING equals RESTORE, also in a transaction. Scripts do not have it.
func TestRestoreAsking(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c, m := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "SET", "a", "x")
	dump, err := c.Do("DUMP", "a")
	if err != nil {
		t.Fatal(err)
	}
	prototest.Do(t, m, "MONITOR")
	want := []string{"+OK", "-BUSYKEY Target key name already exists.", "+OK", "+QUEUED", "*1\n  +OK", "-ERR wrong number of arguments for 'restore-asking' command"}
	for i, args := range [][]string{
		{"RESTORE-ASKING", "b", "0", string(dump.Bytes)}, {"restore-asking", "b", "0", string(dump.Bytes)}, {"MULTI"},
		{"RESTORE-ASKING", "b", "0", string(dump.Bytes), "REPLACE"}, {"EXEC"}, {"RESTORE-ASKING", "b"},
	} {
		if got := prototest.Do(t, c, args...); got != want[i] {
			t.Errorf("%d: %s, want %s", i, got, want[i])
		}
	}
	if got := prototest.Do(t, c, "GET", "b"); got != `"x"` {
		t.Error(got)
	}
	if v, err := m.Read(); err != nil || !strings.Contains(v.String(), `"RESTORE-ASKING" "b"`) {
		t.Errorf("MONITOR: %s, %v", v, err)
	}
	if got := prototest.Do(t, c, "EVAL", "return redis.call('restore-asking', 'c', 0, 'x')", "1", "c"); !strings.Contains(got, "Unknown Redis command called from script") {
		t.Error(got)
	}
}
