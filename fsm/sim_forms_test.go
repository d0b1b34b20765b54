package fsm

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// simForms are arguments with which commands do something. Each command has a list of forms. Words
// in capitals stand for themselves. A word that ends in + comes one to four times, and (a b)+ is
// written a,b+.
var simForms = map[string][]string{
	"hset": {"hash field,value+", "hash field value", "hash field long"}, "hmset": {"hash field,int+"}, "hsetnx": {"hash field value"},
	"hget": {"hash field"}, "hmget": {"hash field+"}, "hgetall": {"hash"}, "hkeys": {"hash"}, "hvals": {"hash"}, "hlen": {"hash"},
	"hstrlen": {"hash field"}, "hexists": {"hash field"}, "hdel": {"hash field", "hash field+"},
	"hincrby": {"hash number int"}, "hincrbyfloat": {"hash decimal float"},
	"hrandfield": {"hash", "hash int", "hash int WITHVALUES"}, "hscan": {"hash 0", "hash 0 COUNT 3", "hash int MATCH f*"},
	"hexpire":    {"hash 0 FIELDS 1 field", "hash 1 FIELDS 2 field field"},
	"hpexpire":   {"hash ms FIELDS 1 field", "hash ms NX FIELDS 2 field field", "hash ms LT FIELDS 3 field field number", "hash ms GT FIELDS 1 field"},
	"hexpireat":  {"hash 1700000060 FIELDS 1 field", "hash 5 FIELDS 1 field"},
	"hpexpireat": {"hash 1700000030000 XX FIELDS 2 field field", "hash 1700000020000 FIELDS 2 field field"},
	"hpersist":   {"hash FIELDS 2 field field"}, "httl": {"hash FIELDS 2 field field"}, "hpttl": {"hash FIELDS 3 field field number"},
	"hexpiretime": {"hash FIELDS 1 field"}, "hpexpiretime": {"hash FIELDS 2 field field"},
	"hgetdel": {"hash FIELDS 2 field field"}, "hgetex": {"hash FIELDS 1 field", "hash PX ms FIELDS 2 field field", "hash PERSIST FIELDS 1 field"},
	"hsetex":          {"hash PX ms FIELDS 1 field value", "hash FNX KEEPTTL FIELDS 1 field value", "hash FXX PX ms FIELDS 2 field value field value"},
	"lockstep.expire": {"db hash", "db hash db hash"},
}

// fromForm draws arguments of a form, or returns nil if the command has none.
func (l *simLog) fromForm(spec *command.Spec) [][]byte {
	forms := simForms[spec.Name]
	if forms == nil {
		return nil
	}
	args := [][]byte{[]byte(spec.Name)}
	for _, word := range strings.Fields(forms[l.rng.IntN(len(forms))]) {
		group, repeated := strings.CutSuffix(word, "+")
		times := 1
		if repeated {
			times += l.rng.IntN(4)
		}
		for range times {
			for term := range strings.SplitSeq(group, ",") {
				args = append(args, l.term(term))
			}
		}
	}
	return args
}

// term draws a value for a word of a form.
func (l *simLog) term(name string) []byte {
	switch name {
	case "hash":
		return fmt.Appendf(nil, "{k%d}h", l.rng.IntN(6))
	case "field":
		// The fields of a key become too many for a small hash.
		return fmt.Appendf(nil, "f%d", l.rng.IntN(1+l.rng.IntN(900)))
	case "number":
		return fmt.Appendf(nil, "n%d", l.rng.IntN(4))
	case "decimal":
		return fmt.Appendf(nil, "d%d", l.rng.IntN(4))
	case "value":
		return fmt.Appendf(nil, "v%d", l.rng.IntN(1000))
	case "long":
		return bytes.Repeat([]byte("x"), 60+l.rng.IntN(10))
	case "int":
		return fmt.Append(nil, l.rng.IntN(20)-8)
	case "float":
		return fmt.Append(nil, float64(l.rng.IntN(2000))/8-90)
	case "ms":
		return fmt.Append(nil, 1+l.rng.IntN(400))
	case "db":
		return fmt.Append(nil, l.rng.IntN(3))
	}
	return []byte(name)
}

// Each command of simForms has its effect often enough.
func TestFormsAreUnderstood(t *testing.T) {
	l := newSimLog(1)
	s := newSimMachine("forms", 2, 4)
	defer s.m.Close()
	names := slices.Sorted(maps.Keys(simForms))
	const rounds, each = 4, 25
	failed, drawn := map[string]int{}, map[string]int{}
	for round := range uint64(rounds) {
		b := Bundle{Origin: Origin{Node: 42, Boot: 1}, FirstSeq: l.seq[0], AckedBelow: l.seq[0]}
		for i := range len(names) * each {
			op := Op{Args: l.fromForm(commands.Get(names[i%len(names)]))}
			b.Txns = append(b.Txns, Txn{Proto: 2, Ops: []Op{op}})
		}
		l.seq[0] += uint64(len(b.Txns))
		l.n++
		l.stamp += 300
		id := EntryID{1, 1, l.n}
		entry := NewEntryBuilder(simGroup, id, l.stamp, 1<<16)
		entry.Add(AppendBundle(nil, &b))
		if err := s.m.Apply(round+1, entry.Finish()); err != nil {
			t.Fatal(err)
		}
		s.await(t, round+1)
		for i, txn := range b.Txns {
			name := string(txn.Ops[0].Args[0])
			_, reply, _ := strings.Cut(s.recorder.replies[id][i], " ")
			drawn[name]++
			if reply == "" || reply[0] == '-' {
				failed[name]++
			}
		}
	}
	for _, name := range names {
		if drawn[name] != rounds*each || failed[name]*2 > drawn[name] {
			t.Errorf("%s: %d of %d failed", name, failed[name], drawn[name])
		}
	}
}
