package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

// The arguments of a call say which keys the call may fill, and with how many elements at most.
func TestWhatCallsFill(t *testing.T) {
	for line, want := range map[string]string{
		"rpush q a b c": "q list 3", "lpushx q a": "q list 1", "linsert q before a b": "q list 1", "lmove a b left left": "b list 1", "blmove a b left left 0": "b list 1",
		"zadd z 1 a 2 b": "z zset 2", "zadd z nx 1 a": "z zset 1", "zincrby z 1 a": "z zset 1", "geoadd z 1 2 a": "z zset 1", "zunionstore z 2 a b": "z zset 0",
		"geosearchstore z a fromlonlat 1 2 byradius 1 km": "z zset 0", "xadd s * f v": "s stream 1", "sort a store q": "q list 0",
		"rename a b": "b any 0", "copy a b": "b any 0", "restore a 0 x": "a any 0",
		"eval return 2 a b": "a any 0, b any 0", "fcall f 1 a": "a any 0", "eval_ro return 1 a": "", "evalsha x 0": "",
		"lpop q": "", "blpop q 0": "", "lrem q 0 a": "", "xdel s 1": "", "xreadgroup group g c streams s >": "",
		"set k v": "", "del q": "", "expire q 1": "", "sadd s a": "", "hset h f v": "", "get q": "", "rpush q": "", "incr n": "",
	} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		var got []string
		for _, f := range spec.AppendFills(nil, args) {
			kind := f.Kind.String()
			if f.Any {
				kind = "any"
			}
			got = append(got, fmt.Sprintf("%s %s %d", f.Key, kind, f.Most))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s fills %q, want %q", line, got, want)
		}
	}
}
