package linear

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
	"lockstep/tests/scripts/zoo"
)

const (
	// roundWorkMs bounds the work of all scripts of a round. Three replicas of each shard do this
	// work, all on the same few processors. Other clients are not served for several times as long,
	// and that must stay within silenceMax.
	roundWorkMs = 2000
	// limitMs is how much work a script may do by default. roundsPerMs is how often the loop of
	// dearScript runs in one millisecond of work (docs/scripts.md).
	limitMs     = 1000
	roundsPerMs = 7000
	dearCalls   = 16

	dearScript = `local x = 0
for i = 1, tonumber(ARGV[1]) do x = (x * 3 + i) % 1000 end
return redis.call('incr', KEYS[1])`
	keyLocking = "#!lua flags=allow-key-locking\n"
)

// burst sends expensive scripts through all nodes at once. Each increments a counter.
func (n *nemesis) burst(from, to time.Duration) {
	workMs := min(roundWorkMs-n.workMs, 300+n.r.IntN(1200))
	if workMs <= 0 {
		return
	}
	n.workMs += workMs
	calls, flags := 2+n.r.IntN(dearCalls), []string{"", keyLocking}[n.r.IntN(2)]
	at := n.within(from, to)
	for i := range calls {
		node := n.c.Nodes[n.r.IntN(len(n.c.Nodes))]
		o := Op{
			Client: 1000 + i, Node: node.Name, Name: opDear, Key: fmt.Sprint(counterPrefix, n.r.IntN(counters)),
			Arg: strconv.Itoa(workMs / calls * roundsPerMs), Expect: flags + dearScript,
		}
		what := "one of them at " + node.Name
		if i == 0 {
			what = fmt.Sprintf("%d scripts of %d ms (%q) at %s", calls, workMs/calls, strings.TrimSpace(flags), node.Name)
		}
		n.at(at, what, func() { n.orders.run(func() { n.dear(node, &o) }) })
	}
}

// dear runs an expensive script, and records the outcome.
func (n *nemesis) dear(node *proc.Node, o *Op) {
	conn, err := respconn.DialTimeout(node.Addr(), time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Patience = clientPatience
	_ = n.w.do(conn, o) // the node may be killed
}

// limits runs a script until it reaches one of the default limits. The error must say so.
func (n *nemesis) limits(from, to time.Duration) {
	if n.workMs+limitMs > roundWorkMs {
		return
	}
	n.workMs += limitMs
	var all []zoo.Animal
	for _, a := range zoo.Animals {
		if a.Want == zoo.Ended && !a.Writes && !a.SmallLimits {
			all = append(all, a)
		}
	}
	for _, a := range zoo.Dear {
		if strings.HasPrefix(a.Name, "lua: ") {
			all = append(all, a)
		}
	}
	a, node, key := all[n.r.IntN(len(all))], n.node(), fmt.Sprint(counterPrefix, n.r.IntN(counters))
	n.at(n.within(from, to), fmt.Sprintf("the script %q at %s", a.Name, node.Name), func() {
		n.orders.run(func() { n.ends(node, a, key) })
	})
}

// ends runs a script that reaches a limit.
func (n *nemesis) ends(node *proc.Node, a zoo.Animal, key string) {
	conn, err := respconn.DialTimeout(node.Addr(), time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Patience = clientPatience
	v, err := conn.Do("EVAL", a.Source, "1", key)
	if said := v.String(); err == nil && !speaksOfTrouble(string(v.Bytes)) && !(v.IsError() && strings.Contains(said, zoo.Ended)) {
		n.w.report("the script %q at %s: %.300s", a.Name, node.Name, said)
	}
}
