package differential

import (
	"strconv"
	"strings"
)

// relative are the places of relative times to live: after a command's key, and after an option.
// The unit is 1 or 1000 milliseconds.
var (
	relativeCommands = map[string]int64{"EXPIRE": 1000, "SETEX": 1000, "PEXPIRE": 1, "PSETEX": 1, "RESTORE": 1}
	relativeOptions  = map[string]int64{"EX": 1000, "PX": 1}
	absoluteCommands = map[string]int64{"EXPIREAT": 1000, "PEXPIREAT": 1}
	absoluteOptions  = map[string]int64{"EXAT": 1000, "PXAT": 1}
)

// clockFree reports whether the command's outcome depends on no clock. A time to live must be
// absent, invalid, negative, or end between ten days and a few decades from now; an absolute one
// must be long ago, or at farFutureMs or later. SET with a time long ago is excluded as well: Redis
// keeps such a key until a command reads it, and DBSIZE counts it until then.
func clockFree(args []string) bool {
	name := strings.ToUpper(args[0])
	absolute := false
	for _, a := range args[1:] {
		absolute = absolute || strings.EqualFold(a, "ABSTTL")
	}
	for i, a := range args {
		relative, ok := relativeOptions[strings.ToUpper(a)]
		if ok && i+1 < len(args) && !relativeIsFree(args[i+1], relative) {
			return false
		}
		unit, ok := absoluteOptions[strings.ToUpper(a)]
		if ok && i+1 < len(args) && (!absoluteIsFree(args[i+1], unit) || name == "SET" && isLongAgo(args[i+1], unit)) {
			return false
		}
	}
	if len(args) < 3 {
		return true
	}
	if unit, ok := absoluteCommands[name]; ok {
		return absoluteIsFree(args[2], unit)
	}
	unit, ok := relativeCommands[name]
	if name == "RESTORE" && absolute {
		return absoluteIsFree(args[2], unit)
	}
	return !ok || relativeIsFree(args[2], unit)
}

const (
	tenDaysMs  = 864_000_000
	decadesMs  = 2_000_000_000_000
	longAgoMs  = 1_000_000_000_000
	unparsable = "9223372036854775807" // it can be parsed, but overflows in every command
)

func relativeIsFree(text string, unit int64) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err != nil || n <= 0 || text == unparsable || n >= tenDaysMs/unit && n <= decadesMs/unit
}

func absoluteIsFree(text string, unit int64) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err != nil || n < longAgoMs/unit || n >= farFutureMs/unit
}

func isLongAgo(text string, unit int64) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n > 0 && n < longAgoMs/unit
}
