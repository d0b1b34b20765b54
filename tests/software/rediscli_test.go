package software

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// redisCLI runs redis-cli in the modes that inspect a whole server.
func redisCLI(t *testing.T, addr string) {
	proc.MustAsk(t, addr, "SET", "cli:string", "12345")
	proc.MustAsk(t, addr, "RPUSH", "cli:list", "a", "b", "c", "d")
	proc.MustAsk(t, addr, "SADD", "cli:set", "a", "b")
	proc.MustAsk(t, addr, "ZADD", "cli:zset", "1", "a")
	proc.MustAsk(t, addr, "HSET", "cli:hash", "f", "v", "g", "w")
	proc.MustAsk(t, addr, "XADD", "cli:stream", "*", "f", "v")
	for _, mode := range []struct {
		name string
		run  func(*testing.T, string)
	}{
		{"scan", cliScan}, {"bigkeys", cliBigkeys}, {"memkeys", cliMemkeys}, {"hotkeys", cliHotkeys}, {"stat", cliStat},
		{"latency", cliLatency}, {"forms", cliForms}, {"pipe", cliPipe}, {"hints", cliHints},
	} {
		t.Run(mode.name, func(t *testing.T) { mode.run(t, addr) })
	}
}

func cli(t *testing.T, addr string, args ...string) *exec.Cmd {
	t.Helper()
	host, port := split(t, addr)
	return exec.CommandContext(deadline(t), proc.Tool(t, "redis-cli"), append([]string{"-h", host, "-p", port}, args...)...)
}

// wantOutput runs redis-cli and checks that whole lines of its output match regular expressions.
func wantOutput(t *testing.T, cmd *exec.Cmd, lines ...string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	must(t, err)
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)^` + line + `$`).Match(out) {
			t.Errorf("%v: no line is %s", cmd.Args, line)
		}
	}
	if t.Failed() {
		t.Logf("%v said\n%s", cmd.Args, out)
	}
}

func cliScan(t *testing.T, addr string) {
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprint("scanned:", i))
		proc.MustAsk(t, addr, "SET", keys[i], "x")
	}
	defer proc.MustAsk(t, addr, append([]string{"DEL"}, keys...)...)
	out, err := cli(t, addr, "--scan", "--pattern", "scanned:*").Output()
	must(t, err)
	seen := map[string]bool{}
	for key := range strings.Lines(string(out)) {
		seen[key] = true
	}
	if len(seen) != 1000 {
		t.Errorf("it saw %d keys", len(seen))
	}
}

func cliBigkeys(t *testing.T, addr string) {
	wantOutput(t, cli(t, addr, "--bigkeys"), `Sampled 6 keys in the keyspace!`,
		`Biggest +list found '"cli:list"' has 4 items`, `Biggest +hash found '"cli:hash"' has 2 fields`, `Biggest string found '"cli:string"' has 5 bytes`,
		`Biggest stream found '"cli:stream"' has 1 entries`, `Biggest +set found '"cli:set"' has 2 members`, `Biggest +zset found '"cli:zset"' has 1 members`,
		`1 lists with 4 items \(16\.67% of keys, avg size 4\.00\)`)
}

func cliMemkeys(t *testing.T, addr string) {
	if lacks(addr, "MEMORY", "USAGE", "cli:list") {
		proc.Skip(t, "waits for MEMORY")
	}
	wantOutput(t, cli(t, addr, "--memkeys"), `Sampled 6 keys in the keyspace!`,
		`Biggest +list found '"cli:list"' has [1-9]\d* bytes`, `Biggest stream found '"cli:stream"' has [1-9]\d* bytes`, `1 lists with [1-9]\d* bytes .*`)
}

// cliHotkeys sets a policy that counts how often a key is used, because --hotkeys needs the counts.
func cliHotkeys(t *testing.T, addr string) {
	proc.MustAsk(t, addr, "CONFIG", "SET", "maxmemory-policy", "allkeys-lfu")
	defer proc.MustAsk(t, addr, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	proc.Wait(t, patience, "the policy is in force where the keys are", func() bool {
		_, err := proc.Ask(addr, "OBJECT", "FREQ", "cli:string")
		return err == nil
	})
	for range 200 {
		proc.MustAsk(t, addr, "GET", "cli:string")
	}
	wantOutput(t, cli(t, addr, "--hotkeys"), `Sampled 6 keys in the keyspace!`, `hot key found with counter: \d+\tkeyname: "cli:string"`)
}

func cliStat(t *testing.T, addr string) {
	screen := inTerminal(t, cli(t, addr, "--stat", "-i", "0.05"))
	// keys, memory, clients, blocked, requests, connections
	row := regexp.MustCompile(`(?m)^6 +[0-9.]+[BKMG]? +[1-9]\d* +0 +[1-9]\d* \(\+\d+\) +[1-9]\d* *\r?$`)
	if !proc.Poll(patience, func() bool { return len(row.FindAllString(screen.text(), -1)) >= 3 }) {
		t.Errorf("it shows %q", screen.text())
	}
}

func cliLatency(t *testing.T, addr string) {
	// minimum, maximum, mean, samples
	wantOutput(t, cli(t, addr, "--latency", "--raw", "-i", "1"), `\d+ \d+ \d+\.\d\d [1-9]\d*`)
}

func cliForms(t *testing.T, addr string) {
	wantOutput(t, cli(t, addr, "--csv", "LRANGE", "cli:list", "0", "-1"), `"a","b","c","d"`)
	wantOutput(t, cli(t, addr, "--json", "HGETALL", "cli:hash"), `\{"f":"v","g":"w"\}`)
	wantOutput(t, cli(t, addr, "-r", "3", "GET", "cli:string"), "12345\n12345\n12345")
	stdin := cli(t, addr, "-x", "APPEND", "cli:string")
	stdin.Stdin = strings.NewReader("67")
	wantOutput(t, stdin, `7`)
}

func cliPipe(t *testing.T, addr string) {
	const n = 20000
	var commands strings.Builder
	for i := range n {
		key := fmt.Sprintf("piped:%05d", i)
		fmt.Fprintf(&commands, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$1\r\nx\r\n", len(key), key)
	}
	cmd := cli(t, addr, "--pipe")
	cmd.Stdin = strings.NewReader(commands.String())
	wantOutput(t, cmd, fmt.Sprintf(`errors: 0, replies: %d`, n))
}

// cliHints: while a user types, redis-cli shows the possible arguments. It knows those of Redis'
// commands itself, and asks the server for those of Lockstep's own commands.
func cliHints(t *testing.T, addr string) {
	screen := inTerminal(t, cli(t, addr))
	screen.typeIn("", addr+"> ")
	screen.typeIn("get ", "key")
	screen.typeIn("cli:list\r", "WRONGTYPE")
	screen.typeIn("delifeq ", "key value")
	screen.typeIn("cli:string 1\r", "(integer) 0")
	screen.typeIn("multi\r", "(TX)> ")
	screen.typeIn("get cli:string\r", "QUEUED")
	screen.typeIn("discard\r", addr+"> ")
	screen.typeIn("help zadd\r", " 1.2.0") // colour codes may come before it
}
