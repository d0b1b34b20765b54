package linear

import (
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// A shard's silence runs from its last answer, as long as it could answer.
func TestTheSilenceOfAShard(t *testing.T) {
	const step = silenceMax / 4
	for _, c := range []struct {
		name string
		// could and answers have one letter per step.
		could, answers string
		tooLong        int
	}{
		{"it answers", "yyyyyyyy", "yyyyyyyy", 0},
		{"it answers in time", "yyyyyyyy", "nnnynnnn", 0},
		{"it does not answer", "yyyyyyyy", "nnnnnnnn", 1},
		{"it answers once, late", "yyyyyyyyyy", "nnnnnynnnn", 1},
		{"it is silent twice", "yyyyyyyyyyy", "nnnnnynnnnn", 2},
		{"it cannot", "nnnnnnnn", "nnnnnnnn", 0},
		{"it could, and cannot", "yyyynyyyy", "nnnnnnnnn", 0},
		{"it can again, and does not", "yynnyyyyy", "nnnnnnnnn", 1},
	} {
		var s silence
		given, tooLong := int64(0), 0
		for i := range c.could {
			if c.answers[i] == 'y' {
				given++
			}
			if s.pass(step, c.could[i] == 'y', given) {
				tooLong++
			}
		}
		if tooLong != c.tooLong {
			t.Errorf("%s: too long %d times, not %d", c.name, tooLong, c.tooLong)
		}
	}
}

// Enough nodes run and reach each other while at most one is in trouble.
func TestEnoughNodes(t *testing.T) {
	c := &proc.Cluster{}
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
		c.Nodes = append(c.Nodes, &proc.Node{Process: &proc.Process{Name: name}})
	}
	n := c.Nodes
	for _, x := range []struct {
		name string
		down []*proc.Node
		held []way
		want bool
	}{
		{"all is well", nil, nil, true},
		{"one is down", n[:1], nil, true},
		{"two are down", n[:2], nil, false},
		{"one is deaf", nil, []way{{"n1", "n5"}, {"n2", "n5"}, {"n3", "n5"}, {"n4", "n5"}}, true},
		{"two are deaf to one", nil, []way{{"n1", "n5"}, {"n1", "n4"}}, true},
		{"two ways are cut", nil, []way{{"n1", "n5"}, {"n2", "n4"}}, false},
		{"one is down, and a way of it is cut", n[:1], []way{{"n1", "n5"}}, true},
		{"one is down, and a way of others is cut", n[:1], []way{{"n2", "n5"}}, false},
	} {
		a := &answers{w: &workload{cluster: c}, wires: newWires(t), down: map[*proc.Node]int{}}
		for _, d := range x.down {
			a.fell(d)
		}
		a.wires.hold(x.held)
		if got := a.could(); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
		a.wires.free(x.held, false)
		for _, d := range x.down {
			a.rose(d)
		}
		if !a.could() {
			t.Errorf("behind %q it is not well again", x.name)
		}
	}
}

// If no other program uses the processors, all of the time counts.
func TestTheMachinesTime(t *testing.T) {
	m := newMachine(&proc.Cluster{})
	began := time.Now()
	<-time.After(50 * time.Millisecond)
	if got, passed := m.look(), time.Since(began); got < 0 || got > passed {
		t.Errorf("%v of %v", got, passed)
	}
}
