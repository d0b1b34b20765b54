package live

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/cmd/clusterctl/backup"
)

func TestEveryExpiryOfTheStreamIsHeld(t *testing.T) {
	at := func(ms int64) string { return fmt.Sprint(backup.HoldMs + ms) }
	const now = 1_000_000
	for _, c := range [][2]string{
		{"SET k v", "SET k v"},
		{"SET k PX PXAT 5000", "SET k PX PXAT " + at(5000)},
		{"set k v nx ex 7 get", "set k v nx PXAT " + at(now+7000) + " get"},
		{"SET k v KEEPTTL", "SET k v KEEPTTL"},
		{"PSETEX k 7 v", "SET k v PXAT " + at(now+7)},
		{"SETEX k 7 v", "SET k v PXAT " + at(now+7000)},
		{"PEXPIREAT k 5 GT", "PEXPIREAT k " + at(5) + " GT"},
		{"EXPIREAT k 5", "PEXPIREAT k " + at(5000)},
		{"EXPIRE k -5", "PEXPIREAT k " + at(now-5000)},
		{"PEXPIREAT k -5", "PEXPIREAT k " + at(1)},
		{"GETEX k PERSIST", "GETEX k PERSIST"},
		{"GETEX k EXAT 5", "GETEX k PXAT " + at(5000)},
		{"RESTORE k 0 p REPLACE", "RESTORE k 0 p REPLACE"},
		{"RESTORE k 5 p ABSTTL", "RESTORE k " + at(5) + " p ABSTTL"},
		{"RESTORE-ASKING k 5 p REPLACE", "RESTORE k " + at(now+5) + " p REPLACE ABSTTL"},
		{"DEL k", "DEL k"},
		{"PEXPIREAT k 9000000000000000000", ""},
		{"EXPIRE k 9000000000000000000", ""},
	} {
		var args []any
		for _, a := range strings.Fields(c[0]) {
			args = append(args, a)
		}
		got, err := held(args, now)
		if text := strings.Trim(fmt.Sprint(got), "[]"); text != c[1] || (err != nil) != (c[1] == "") {
			t.Errorf("%s: %s (%v), want %s", c[0], text, err, c[1])
		}
	}
}

func TestALimitThatASourceHasObeyedIsLeftOut(t *testing.T) {
	for _, c := range [][2]string{
		{"XADD k MAXLEN = 5 LIMIT 100 1-1 f v", "XADD k MAXLEN = 5 1-1 f v"},
		{"XADD k NOMKSTREAM MINID = 5-0 LIMIT 0 1-1 f v", "XADD k NOMKSTREAM MINID = 5-0 1-1 f v"},
		{"xtrim k maxlen = 5 limit 100", "xtrim k maxlen = 5"},
		{"XTRIM k MAXLEN ~ 5 LIMIT 100", "XTRIM k MAXLEN ~ 5 LIMIT 100"},
		{"XTRIM k MAXLEN = 5", "XTRIM k MAXLEN = 5"},
		{"XADD k 1-1 MAXLEN = 5 LIMIT", "XADD k 1-1 MAXLEN = 5 LIMIT"},
		{"XADD k 1-1 MAXLEN = 5 LIMIT 5 x", "XADD k 1-1 MAXLEN = 5 LIMIT 5 x"},
		{"XADD k 1-1 f MAXLEN = 5 LIMIT 5", "XADD k 1-1 f MAXLEN = 5 LIMIT 5"},
		{"XADD k 1-1 f v", "XADD k 1-1 f v"},
		{"RPUSH k MAXLEN = 5 LIMIT 5", "RPUSH k MAXLEN = 5 LIMIT 5"},
	} {
		var args []any
		for _, a := range strings.Fields(c[0]) {
			args = append(args, a)
		}
		if got := strings.Trim(fmt.Sprint(withoutLimit(args)), "[]"); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}
