package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// formText is the text of a form, and its weight when forms are drawn.
type formText struct {
	weight int
	text   string
}

// formTables are the forms of every command on data or on the state of a connection. Commands that
// describe the server are in tests/corpus.
var formTables = [][]formText{formTexts, listForms, hashForms, setForms, bitForms, sortedSetForms, geoForms, streamForms, scriptForms}

var formTexts = []formText{
	{30, "SET key value"},
	{20, "SET key value [NX|XX] [GET] [EX seconds|PX ms|EXAT ats|PXAT atms|KEEPTTL]"},
	{6, "SET key value [GET] [PXAT atms|KEEPTTL] [NX|XX] [EXAT gone|EX gone|NX|GET]"},
	{20, "GET key"},
	{6, "GETEX key [EX seconds|PX ms|EXAT ats|PXAT atms|PERSIST]"},
	{2, "GETEX key (EX gone|PX gone|EXAT past|PXAT past|PERSIST EX 10000000|KEEPTTL|NX)"},
	{5, "GETDEL key"},
	{8, "GETSET key value"},
	{8, "SETNX key value"},
	{4, "SETEX key (seconds|gone|int) value"},
	{4, "PSETEX key (ms|gone|int) value"},
	{8, "MSET (key value)+"},
	{6, "MSETNX (key value)+"},
	{8, "MGET key+"},
	{8, "(INCR|DECR) key"},
	{8, "(INCR|DECR) N"},
	{8, "(INCRBY|DECRBY) (key|key) int"},
	{12, "INCRBYFLOAT (key|key) float"},
	{8, "APPEND key value"},
	{6, "SETRANGE key offset value"},
	{8, "(GETRANGE|SUBSTR) key small small"},
	{6, "STRLEN key"},
	{3, "SET key alphabet"},
	{6, "LCS key key [LEN|IDX] [MINMATCHLEN small] [WITHMATCHLEN|IDX|LEN]"},
	{10, "(DEL|UNLINK) key+"},
	{6, "(EXISTS|TOUCH) key+"},
	{5, "TYPE key"},
	{3, "KEYS pattern"},
	{3, "SCAN 0 COUNT 100000 [MATCH pattern] [TYPE (STRING|HASH|value)]"},
	{2, "RANDOMKEY"},
	{6, "(RENAME|RENAMENX) key key"},
	{8, "COPY key key [DB db] [REPLACE]"},
	{5, "MOVE key db"},
	{4, "DBSIZE"},
	{6, "(EXPIRE key seconds|PEXPIRE key ms|EXPIREAT key ats|PEXPIREAT key atms) [NX|XX|GT|LT]"},
	{3, "(EXPIRE key seconds|PEXPIREAT key atms) [NX|XX] [GT|LT]"},
	{2, "(EXPIRE|PEXPIRE) key (gone|int) [NX|XX|GT|LT]"},
	{2, "(EXPIREAT|PEXPIREAT) key past [NX|XX|GT|LT]"},
	{8, "(TTL|PTTL|EXPIRETIME|PEXPIRETIME) key"},
	{4, "PERSIST key"},
	{4, "OBJECT (ENCODING|REFCOUNT|IDLETIME|FREQ) key"},
	{3, "DUMP key"},
	{4, "RESTORE key (0|atms|ms|gone) payload [REPLACE] [ABSTTL|IDLETIME small|FREQ small]"},
	{1, "FLUSHDB [ASYNC|SYNC|NOW]"},
	{1, "FLUSHALL [ASYNC|SYNC|NOW]"},
	{2, "SWAPDB db db"},
	{8, "SELECT db"},
	{1, "SELECT (16|-1|X|15)"},
	{12, "MULTI"},
	{20, "EXEC"},
	{3, "DISCARD"},
	{8, "WATCH key+"},
	{3, "UNWATCH"},
	{3, "PING [value]"},
	{3, "ECHO value"},
	{1, "RESET"},
	{2, "CLIENT (GETNAME|SETNAME (ME|X|value))"},
	{1, "NOSUCH value"},
	{1, "COMMAND GETKEYS (GET key|MSET (key value)+|SET key value|LCS key key|COPY key key|PING|DEL key+)"},
}

// parseForms parses the table. It panics over a malformed form.
func parseForms() []form {
	var all []form
	for _, row := range slices.Concat(formTables...) {
		n, err := parseForm(row.text)
		if err != nil {
			panic(fmt.Sprintf("differential: form %q: %v", row.text, err))
		}
		all = append(all, form{row.weight, n, firstWords(n)})
	}
	return all
}

// op is one command of the stream.
type op struct {
	conn int
	args []string
}

func (o op) name() string { return strings.ToUpper(o.args[0]) }

// meetMin is how often a stream of the default length has each command at least.
const meetMin = 3

// stream returns n commands drawn from the seed. It begins with meetMin runs for each command of
// the forms, in a random order, so a stream of the default length has them all.
func stream(seed uint64, n int) []op {
	g := &generator{r: rand.New(rand.NewPCG(seed, seed)), forms: parseForms()}
	var first []form
	for _, f := range g.forms {
		g.total += f.weight
		for _, name := range f.names {
			for range meetMin {
				first = append(first, form{node: f.node, names: []string{name}})
			}
		}
	}
	g.r.Shuffle(len(first), func(i, j int) { first[i], first[j] = first[j], first[i] })
	for _, f := range first {
		if len(g.ops) >= n {
			break
		}
		g.drawNamed(f.node, f.names[0])
		g.drawRun()
	}
	for len(g.ops) < n {
		g.drawRun()
	}
	for i := range g.ops {
		if zeroPayload(g.ops[i].args) {
			g.ops[i].args = []string{"PING"}
		}
	}
	return g.ops[:n]
}

// zeroPayload reports whether a command restores zero bytes, whose checksum is valid: Redis takes
// the first two for an empty text and ignores the others. Here nothing may follow a value.
func zeroPayload(args []string) bool {
	return len(args) > 3 && strings.EqualFold(args[0], "RESTORE") && strings.Trim(args[3], "\x00") == ""
}

const (
	connections = 4 // the upper half uses RESP3
	runMax      = 8
)

type generator struct {
	r     *rand.Rand
	forms []form
	total int
	ops   []op
}

// drawNamed draws from a form until the command has the name and may be sent. Some forms never give
// such a command, so it gives up after 200 attempts.
func (g *generator) drawNamed(n node, name string) {
	for range 200 {
		if args := n.draw(g.r, nil); args[0] == name && alike(args) {
			g.ops = append(g.ops, op{g.r.IntN(connections), args})
			return
		}
	}
}

// alike reports whether both servers must give the same answer to a command.
func alike(args []string) bool {
	return clockFree(args) && answersSoon(args) && !leastInteger(args) && chanceFree(args) && !readsNumbers(args) && !storesEstimate(args) &&
		sortedSetsComparable(args) && streamsPaired(args)
}

// drawRun draws a few commands for one connection, which share a pipeline.
func (g *generator) drawRun() {
	conn := g.r.IntN(connections)
	for range 1 + g.r.IntN(runMax) {
		args := g.drawForm()
		// COMMAND without arguments returns the whole table, which commandinfo.go compares by rows,
		// and an incomplete scan proves nothing.
		if g.r.IntN(25) == 0 && args[0] != "COMMAND" && !luaWhole(args) && !walksInParts(args) && args[0] != "ZSCAN" {
			args = g.spoil(args)
		}
		if alike(args) {
			g.ops = append(g.ops, op{conn, args})
		}
	}
}

func (g *generator) drawForm() []string {
	at := g.r.IntN(g.total)
	for _, f := range g.forms {
		if at -= f.weight; at < 0 {
			return f.node.draw(g.r, nil)
		}
	}
	panic("differential: weights do not add up")
}

// spoil makes a command invalid, in one of the ways of users.
func (g *generator) spoil(args []string) []string {
	switch g.r.IntN(4) {
	case 0:
		return args[:1+g.r.IntN(len(args))]
	case 1:
		return append(args, drawValue(g.r))
	case 2:
		if len(args) > 1 {
			args[1+g.r.IntN(len(args)-1)] = drawValue(g.r)
		}
		return args
	default:
		args[0] = strings.ToLower(args[0])
		return args
	}
}
