package acl

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lockstep/tests/corpus/alone"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

var (
	rounds = flag.Int("rounds", 300, "users made and compared")
	seed   = flag.Uint64("seed", 1, "what chance begins with")
)

// rules are the rules that users are made of. "*" stands for a word drawn from words.
var rules = []string{
	"on", "off", "nopass", "resetpass", ">*", "<*", ">secret", "<secret", "reset", "clearselectors", "sanitize-payload", "skip-sanitize-payload",
	"#" + someHash, "!" + someHash, "#abc", "!ABC", "ON", "AllKeys", "NoCommands",
	"allkeys", "resetkeys", "~*", "~*", "~a*", "%R~*", "%W~*", "%RW~*", "%~*", "%X~*", "%RR~*", "%r~b*", "%w~b*", "~", "%R", "%RW",
	"allchannels", "resetchannels", "&*", "&*", "&ch*", "&",
	"allcommands", "nocommands", "+@all", "-@all", "+@read", "-@read", "+@write", "-@write", "+@STRING", "-@hash", "+@set", "+@nosuch",
	"+get", "-get", "+SET", "-set", "+mset", "+config|get", "-config|set", "+config", "-config", "+config|nosuch", "+config|", "+config|get|x",
	"+select|0", "+select|1", "-select", "+select", "-select|0", "+object", "-object|freq", "+subscribe", "+psubscribe", "+publish", "+eval", "+sort",
	"+nosuch", "-nosuch", "+", "-", "nosuch", "",
	"(+get ~a*)", "(", "(+set", "%W~b*)", "()", "(nosuch)", "(%R~c* +@read)", "(&ch +publish)", "(on)",
}

const someHash = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

var words = []string{"*", "a", "b?", "[ab]c", "x y", "k\tz", "key"}

// judged are the commands that the test asks about for each user.
var judged = []string{
	"get a", "get b", "get key", "set a 1", "set a 1 get", "set b 1", "mset a 1 bb 2", "mget a key", "del a", "copy a b", "rename b a", "getset a 1", "getex a",
	"bitfield a get u8 0", "bitfield a set u8 0 1", "bitfield_ro a get u8 0", "config get x", "config set x y", "config help", "config", "select 0", "select 1", "object freq a",
	"object encoding b", "subscribe ch", "subscribe ch1 x", "psubscribe ch*", "psubscribe *", "publish ch x", "publish other x", "spublish ch x", "ssubscribe ch", "unsubscribe zz",
	"eval x 1 a", "eval x 0", "sort a", "sort a store b", "zunionstore a 2 b c", "lmpop 2 a b left", "xread streams a b 0 0", "xadd a * f v", "hset a f v", "hget a f",
	"sadd a m", "sinterstore a b c", "georadius a 1 1 1 m store b", "ping", "auth x", "hello 3", "multi", "client id", "acl whoami", "acl list", "flushall", "keys *", "pfcount a b", "lcs a b",
	"bitop and a b c", "touch a b", "exists a", "nosuch", "get", "info", "debug sleep 0", "object help", "watch a",
}

// pick draws the rules of one call.
func pick(r *rand.Rand) []string {
	list := make([]string, 1+r.IntN(8))
	for i := range list {
		list[i] = rules[r.IntN(len(rules))]
		if len(list[i]) > 1 && strings.HasSuffix(list[i], "*") && r.IntN(2) == 0 {
			list[i] = strings.TrimSuffix(list[i], "*") + words[r.IntN(len(words))]
		}
	}
	return list
}

// fields returns the fields of ACL GETUSER, without the commands. redis-server describes there the
// resulting commands, and Lockstep lists the rules that were given.
func fields(t *testing.T, c *respconn.Conn, user string) string {
	v, err := c.Do("acl", "getuser", user)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for i := 0; i+1 < len(v.Elems); i += 2 {
		switch name := string(v.Elems[i].Bytes); name {
		case "commands":
		case "selectors":
			for _, s := range v.Elems[i+1].Elems {
				kept = append(kept, "selector "+s.Elems[3].String()+s.Elems[5].String())
			}
		default:
			kept = append(kept, name+v.Elems[i+1].String())
		}
	}
	return strings.Join(kept, "\n")
}

// rulesIn returns a user's line in ACL LIST, without the user's name.
func rulesIn(t *testing.T, c *respconn.Conn, user string) []string {
	v, err := c.Do("acl", "list")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range v.Elems {
		if rest, ok := strings.CutPrefix(string(line.Bytes), "user "+user+" "); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

func TestRulesMeanWhatTheyMeanToRedis(t *testing.T) {
	ours, theirs := proc.Dial(t, alone.Serve(t)), proc.Dial(t, proc.RedisServer(t).Addr())
	r := rand.New(rand.NewPCG(*seed, 0))
	for round := range *rounds {
		said := []string{"acl", "deluser", "u", "twin"}
		proc.Do(t, ours, said...)
		proc.Do(t, theirs, said...)
		var history []string
		for range 1 + r.IntN(3) {
			list := pick(r)
			history = append(history, strings.Join(list, " "))
			call := append([]string{"acl", "setuser", "u"}, list...)
			if got, want := proc.Do(t, ours, call...), proc.Do(t, theirs, call...); got != want {
				t.Fatalf("round %d: %q\n got %s\nwant %s", round, history, got, want)
			}
		}
		line := rulesIn(t, ours, "u")
		if (line == nil) != (rulesIn(t, theirs, "u") == nil) {
			t.Fatalf("round %d: %q: there is a user on one side alone", round, history)
		}
		if line == nil {
			continue
		}
		if got, want := fields(t, ours, "u"), fields(t, theirs, "u"); got != want {
			t.Fatalf("round %d: %q\n got %s\nwant %s", round, history, got, want)
		}
		readBack(t, theirs, history, line)
		judge(t, r, ours, theirs, history)
	}
}

// readBack gives Lockstep's line of a user to redis-server. It must make the same user as from the
// rules themselves.
func readBack(t *testing.T, theirs *respconn.Conn, history, line []string) {
	t.Helper()
	if got := proc.Do(t, theirs, append([]string{"acl", "setuser", "twin"}, line...)...); got != "+OK" {
		t.Fatalf("%q: redis-server reads %q: %s", history, line, got)
	}
	if got, want := rulesIn(t, theirs, "twin"), rulesIn(t, theirs, "u"); !slices.Equal(got, want) {
		t.Fatalf("%q: we say %q\nwhich is  %q\nand not   %q", history, line, got, want)
	}
}

// TestPasswordsAreMadeUp: ACL GENPASS gives as many digits as redis-server does, for any number of
// bits, and other digits each time.
func TestPasswordsAreMadeUp(t *testing.T) {
	ours, theirs := proc.Dial(t, alone.Serve(t)), proc.Dial(t, proc.RedisServer(t).Addr())
	for _, bits := range []string{"", "1", "4", "5", "31", "32", "256", "1023", "4096", "0", "-1", "4097", "x"} {
		call := append([]string{"acl", "genpass"}, strings.Fields(bits)...)
		got, again, want := proc.Do(t, ours, call...), proc.Do(t, ours, call...), proc.Do(t, theirs, call...)
		if strings.HasPrefix(want, "-") {
			if got != want {
				t.Errorf("%q: %s, want %s", call, got, want)
			}
			continue
		}
		if len(got) != len(want) || strings.Trim(got, `"0123456789abcdef`) != "" {
			t.Errorf("%q: %s, like %s", call, got, want)
		}
		if len(got) > 12 && got == again {
			t.Errorf("%q: twice %s", call, got)
		}
	}
}

func judge(t *testing.T, r *rand.Rand, ours, theirs *respconn.Conn, history []string) {
	t.Helper()
	for range 40 {
		command := judged[r.IntN(len(judged))]
		call := append([]string{"acl", "dryrun", "u"}, strings.Fields(command)...)
		if got, want := proc.Do(t, ours, call...), proc.Do(t, theirs, call...); got != want {
			t.Fatalf("%q: %s\n got %s\nwant %s", history, command, got, want)
		}
	}
}
