package commands_test

import (
	"bytes"
	"math/rand"
	"slices"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands"
	"lockstep/engine/sched"
	"lockstep/tests/kit/cmdtest"
)

// namedKeys are keys. Some of them have the name of an option.
var namedKeys = []string{"k0", "k1", "k2", "a", "STORE", "store", "STREAMS"}

// namedValues are lines that fill the key K with a value of each kind.
var namedValues = []string{
	"set K 12", "rpush K a b 1 2", "sadd K a b 1 2", "zadd K 1 a 2 b 3 1", "hset K a 1 b 2",
	"geoadd K 13 52 a 14 53 b", "xgroup create K a 0 mkstream", "pfadd K a b",
}

// namedWords are values for the arguments that are not options.
var namedWords = []string{
	"0", "1", "2", "3", "-1", "10", "1.5", "*", "-", "+", "$", ">", "0-0", "b", "m", "u8", "and", "left", "right", "min", "max", "before", "(1", "[a", "streams", "count",
}

// keyCase is a call, and for each key the kind of its value: an index into namedValues, or beyond
// it if the key does not exist.
type keyCase struct {
	args  [][]byte
	kinds []int
}

// runOn runs the call on a keyspace with only those keys for which there returns true.
func (k *keyCase) runOn(t *testing.T, there func(key string) bool) (*cmdtest.Runner, []byte) {
	r := cmdtest.NewRunner(t)
	for i, key := range namedKeys {
		if k.kinds[i] < len(namedValues) && there(key) {
			args := cmdtest.Words(namedValues[k.kinds[i]])
			args[slices.IndexFunc(args, func(a []byte) bool { return string(a) == "K" })] = []byte(key)
			r.Exec(args...)
		}
	}
	r.Seed, r.Changes = 1, &command.Changes{}
	return r, r.Exec(k.args...)
}

// check expects the call to use only the keys that the table finds among its arguments, since only
// those are locked. Its reply must not depend on other keys, and it must change only keys that it
// holds exclusively.
func (k *keyCase) check(t *testing.T) {
	t.Helper()
	spec, _ := commands.Lookup(k.args)
	held := map[string]sched.Mode{}
	for _, ref := range spec.AppendKeys(nil, k.args) {
		key := string(k.args[ref.Pos])
		held[key] = max(held[key], ref.Mode)
	}
	all, got := k.runOn(t, func(string) bool { return true })
	_, want := k.runOn(t, func(key string) bool { _, named := held[key]; return named })
	if !bytes.Equal(got, want) {
		t.Errorf("%q: among other keys %q, alone %q", k.args, got, want)
	}
	for _, key := range all.Changes.Keys {
		if held[string(key)] != sched.Exclusive {
			t.Errorf("%q changes %q, which it does not hold", k.args, key)
		}
	}
}

// optionsOf are the words of a row's options.
func optionsOf(args []arg.Arg) (all []string) {
	for _, a := range args {
		if a.Token != "" {
			all = append(all, a.Token)
		}
		all = append(all, optionsOf(a.Sub)...)
	}
	return all
}

// TestCommandsReachOnlyTheKeysTheyName calls every command that has keys with its options and other
// words in random order.
func TestCommandsReachOnlyTheKeysTheyName(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 15
	}
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(5))}
	for _, s := range commands.All() {
		for _, spec := range append([]*command.Spec{s}, s.Sub...) {
			if spec.Run == nil || spec.Scope != command.ScopeKeys || spec.Plan != nil || spec.Is(command.ReachesMore) || spec.Internal() || len(spec.Keys) == 0 {
				continue
			}
			options := append(optionsOf(spec.Args), namedWords...)
			for range n {
				k := keyCase{bytes.Split([]byte(spec.Name), []byte("|")), make([]int, len(namedKeys))}
				for i := range k.kinds {
					k.kinds[i] = g.Intn(len(namedValues) + 4)
				}
				for more := g.Intn(5); len(k.args) < max(spec.Arity, more-spec.Arity); {
					word := g.Pick(namedKeys...)
					if g.Intn(10) > 3 {
						word = g.Pick(options...)
					}
					k.args = append(k.args, []byte(word))
				}
				k.check(t)
			}
		}
	}
}

// TestWordsOfGeoRadiusAreNoStoreBeforeItsOptions: if the index does not exist Redis does not look
// at the unit, so the unit may be any word.
func TestWordsOfGeoRadiusAreNoStoreBeforeItsOptions(t *testing.T) {
	for _, line := range []string{
		"georadiusbymember none m 1 store STORE k1", "georadiusbymember none m 1 storedist store k1", "georadiusbymember none store store km STORE k1",
		"georadiusbymember none m 1 store STORE k0 STOREDIST k1",
	} {
		k := keyCase{cmdtest.Words(line), make([]int, len(namedKeys))}
		k.check(t)
		if r, _ := k.runOn(t, func(string) bool { return true }); r.Do("exists k1") != ":0" {
			t.Errorf("%s: the key stays", line)
		}
	}
}
