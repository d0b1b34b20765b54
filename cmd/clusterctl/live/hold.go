package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockstep/cmd/clusterctl/backup"
)

// A replica expires nothing by its own clock: it waits for its source. The copy must do the same,
// because it is behind, by minutes while the file is loaded. Otherwise a session whose time to live
// the source has extended meanwhile would be gone here, and the next write to it would make half a
// key. So until the cut-over everything expires backup.HoldMs later.

// held changes a command of the stream so that its expiry is held. nowMs is for commands with
// relative times, which sources before Redis 7 send.
func held(args []any, nowMs int64) ([]any, error) {
	switch name := strings.ToUpper(args[0].(string)); name {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		if len(args) < 3 {
			return args, nil
		}
		done, err := holdAt(args, 2, expiryUnits[name], nowMs)
		if err == nil {
			done[0] = "PEXPIREAT"
		}
		return done, err
	case "SETEX", "PSETEX":
		if len(args) != 4 {
			return args, nil
		}
		set := []any{"SET", args[1], args[3], expiryUnits[name].option(), args[2]}
		return holdOption(set, 3, nowMs)
	case "SET":
		return holdOption(args, 3, nowMs)
	case "GETEX":
		return holdOption(args, 2, nowMs)
	case "RESTORE-ASKING": // A Redis Cluster that moves slots sends this.
		return holdRestore(append([]any{"RESTORE"}, args[1:]...), nowMs)
	case "RESTORE":
		return holdRestore(args, nowMs)
	}
	return args, nil
}

// expiryUnit says how to convert a number into a time: its unit in milliseconds, and whether it
// counts from now or from 1970.
type expiryUnit struct {
	ms      int64
	fromNow bool
}

var expiryUnits = map[string]expiryUnit{
	"EXPIRE": {1000, true}, "PEXPIRE": {1, true}, "EXPIREAT": {1000, false}, "PEXPIREAT": {1, false},
	"SETEX": {1000, true}, "PSETEX": {1, true},
	"EX": {1000, true}, "PX": {1, true}, "EXAT": {1000, false}, "PXAT": {1, false},
}

// option returns the option of SET for such a number.
func (u expiryUnit) option() string {
	if u.ms == 1 {
		return "PX"
	}
	return "EX"
}

// holdAt replaces argument i by the held time, in milliseconds since 1970.
func holdAt(args []any, i int, u expiryUnit, nowMs int64) ([]any, error) {
	n, err := strconv.ParseInt(args[i].(string), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the source's stream makes no sense: %.60q", fmt.Sprint(args[0], " ", args[i]))
	}
	if n > (backup.HoldMs-nowMs)/u.ms || n < -backup.HoldMs/u.ms {
		return nil, fmt.Errorf("%v lets a key expire at %d: so late a time cannot be kept until the cut-over", args[0], n)
	}
	at := n * u.ms
	if u.fromNow {
		at += nowMs
	}
	done := slices.Clone(args)
	done[i] = strconv.FormatInt(max(at, 1)+backup.HoldMs, 10)
	return done, nil
}

// holdOption is holdAt for the option of SET and GETEX, from argument i on.
func holdOption(args []any, i int, nowMs int64) ([]any, error) {
	for ; i+1 < len(args); i++ {
		u, known := expiryUnits[strings.ToUpper(args[i].(string))]
		if !known {
			continue
		}
		done, err := holdAt(args, i+1, u, nowMs)
		if err == nil {
			done[i] = "PXAT"
		}
		return done, err
	}
	return args, nil
}

// holdRestore is holdAt for RESTORE, whose time is 0 if there is none.
func holdRestore(args []any, nowMs int64) ([]any, error) {
	if len(args) < 4 || args[2] == "0" {
		return args, nil
	}
	isAt := slices.ContainsFunc(args[4:], func(a any) bool { return strings.EqualFold(a.(string), "ABSTTL") })
	done, err := holdAt(args, 2, expiryUnit{1, !isAt}, nowMs)
	if err == nil && !isAt {
		done = append(done, "ABSTTL")
	}
	return done, err
}
