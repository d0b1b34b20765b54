package badinput

import (
	"math/rand/v2"
	"strings"
	"testing"

	"lockstep/engine/commands"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// sweepShare: the short run tries one of sweepShare hostile values in each place; LOCKSTEP_LONG=1
// tries all. LOCKSTEP_SEED repeats a run.
const sweepShare = 6

// sweepSide is one of the two servers, with a connection for each protocol.
type sweepSide struct {
	addr  string
	conns [2]*respconn.Conn
}

func newSweepSide(t *testing.T, addr string) *sweepSide {
	s := &sweepSide{addr: addr}
	for i := range s.conns {
		s.conns[i] = proc.Dial(t, addr)
	}
	if v, err := s.conns[1].Do("HELLO", "3"); err != nil || v.IsError() {
		t.Fatalf("%s: HELLO 3: %v, %v", addr, v, err)
	}
	return s
}

// sweepChunk is how many variants run on one state.
const sweepChunk = 8

// run loads the state and runs the variants. Each gets one reply, or three within a transaction.
func (s *sweepSide) run(t *testing.T, proto int, commands [][]string) []respconn.Value {
	t.Helper()
	replies, err := s.conns[proto].Pipeline(append(append([][]string{}, sweepState...), commands...)...)
	if err != nil {
		t.Fatalf("%s: %d replies to %q, then %v", s.addr, len(replies), commands, err)
	}
	return replies[len(sweepState):]
}

// sweepCommands returns the variants as they are sent, and for each command its variant. Variants
// that would wait are sent in a transaction, where nothing waits.
func sweepCommands(row commandRow, all []variant) (commands [][]string, of []variant) {
	add := func(v variant, args ...string) { commands, of = append(commands, args), append(of, v) }
	for _, v := range all {
		if row.blocking {
			add(v, "MULTI")
		}
		add(v, v.args...)
		if row.blocking {
			add(v, "EXEC")
		}
	}
	return commands, of
}

func sweepSeed(t *testing.T) (*rand.Rand, int) {
	t.Helper()
	seed, share := proc.Seed(t, 1), sweepShare
	if proc.Long() {
		share = 1
	}
	t.Logf("one hostile value of %d", share)
	return rand.New(rand.NewPCG(seed, seed)), share
}

// sweep is one run over the table.
type sweep struct {
	ours, theirs         *sweepSide
	ourTable, theirTable map[string]commandRow
	sent, compared       int
	used                 map[string]bool
	failures             map[string]int
}

// chunk runs some variants of one command on both servers and compares.
func (s *sweep) chunk(t *testing.T, name string, proto int, all []variant) {
	t.Helper()
	commands, of := sweepCommands(s.ourTable[name], all)
	got := s.ours.run(t, proto, commands)
	s.sent += len(got)
	if s.theirTable[name] == (commandRow{}) {
		return
	}
	want := s.theirs.run(t, proto, commands)
	for i := range got {
		s.compared++
		name := commandName(s.ourTable, of[i].args) // a shortened command may be another one
		if sameAnswer(name, got[i], want[i]) {
			continue
		}
		if d := differenceOf(name, got[i]); d != nil {
			s.used[d.reason] = true
			continue
		}
		if s.failures[name]++; s.failures[name] <= sweepFailuresShown {
			t.Errorf("RESP%d: %s\nlockstep answers\n%s\nredis-server\n%s", proto+2, of[i], shown([]string{got[i].String()}), shown([]string{want[i].String()}))
		}
	}
}

// sweepFailuresShown bounds how many failures of one command are printed.
const sweepFailuresShown = 4

// template runs all variants of a template, in both protocols.
func (s *sweep) template(t *testing.T, template string, share int, r *rand.Rand) {
	t.Helper()
	name := commandName(s.ourTable, strings.Fields(template))
	row, ok := s.ourTable[name]
	if !ok {
		t.Fatalf("%q is no command", template)
	}
	all := variants(row, template, share, r)
	for proto := range 2 {
		for rest := all; len(rest) > 0; {
			n := 1
			for n < min(sweepChunk, len(rest)) && endless(name, rest[n]) == endless(name, rest[0]) {
				n++
			}
			if endless(name, rest[0]) {
				commands, _ := sweepCommands(row, rest[:n])
				s.sent += len(s.ours.run(t, proto, commands))
			} else {
				s.chunk(t, name, proto, rest[:n])
			}
			rest = rest[n:]
		}
	}
}

// TestEveryCommandRefusesWhatRedisRefuses sweeps the whole table: each command with wrong numbers
// of arguments, keys of every type, and hostile values in each place, in RESP2 and RESP3. If both
// servers have the command, an error equals redis-server's byte for byte, and so does any other
// answer except for sweepDifferences. The server lives, and its memory stays bounded.
func TestEveryCommandRefusesWhatRedisRefuses(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const grownMax = 2048 * mb
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	s := &sweep{ours: newSweepSide(t, n.Addr()), theirs: newSweepSide(t, proc.RedisServer(t).Addr()), used: map[string]bool{}, failures: map[string]int{}}
	s.ourTable, s.theirTable = tableOf(t, s.ours), tableOf(t, s.theirs)
	r, share := sweepSeed(t)
	grown := watchRSS(n, func() {
		for _, template := range allTemplates(s.ourTable) {
			s.template(t, template, share, r)
		}
		for name := range notSwept {
			words := strings.Split(name, "|")
			for proto := range 2 {
				s.chunk(t, name, proto, wrongArities(s.ourTable[name], words))
			}
		}
	})
	t.Logf("%d commands sent, %d answers compared; the node took %d MB more at most", s.sent, s.compared, grown/mb)
	if len(s.failures) > 0 {
		t.Errorf("answers that differ without a reason: %v", s.failures)
	}
	if grown > grownMax {
		t.Errorf("it took %d MB", grown/mb)
	}
	for _, d := range sweepDifferences {
		if share == 1 && !s.used[d.reason] {
			t.Errorf("a listed difference does not exist: %s", d.reason)
		}
	}
	mustLive(t, n, pid)
}

func tableOf(t *testing.T, s *sweepSide) map[string]commandRow {
	t.Helper()
	table, err := commandTable(s.conns[0])
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestTemplatesOfRows: they are valid calls, and short ones.
func TestTemplatesOfRows(t *testing.T) {
	for name, want := range map[string]string{
		"delifeq": "DELIFEQ $string 10", "script|show": "SCRIPT SHOW 10", "hpersist": "HPERSIST $hash FIELDS 1 10", "sinterstore": "SINTERSTORE $set $set",
		"lockstep|waitfor": "LOCKSTEP WAITFOR 10", "hexpire": "HEXPIRE $hash 1 FIELDS 1 10", "dbsize": "DBSIZE",
	} {
		if got := templateOf(commands.Get(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestEveryCommandIsSwept(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	table := tableOf(t, newSweepSide(t, proc.NewNode(t, proc.Options{}).Addr()))
	swept := map[string]bool{}
	for _, template := range allTemplates(table) {
		words := strings.Fields(template)
		name := commandName(table, words)
		swept[name] = true
		if !table[name].allows(len(words)) {
			t.Errorf("%q has a wrong number of arguments: the row of %s documents too few, or write a template", template, name)
		}
	}
	for name := range table {
		parent, _, isSub := strings.Cut(name, "|")
		if isSub {
			swept[parent] = true
		}
		if strings.HasSuffix(name, "|help") {
			swept[name] = true // the texts are ours, and it takes no arguments
		}
	}
	for name := range table {
		if swept[name] == (notSwept[name] != "") {
			t.Errorf("%s: swept %v, with a reason why not: %q", name, swept[name], notSwept[name])
		}
	}
}
