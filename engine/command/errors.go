package command

import (
	"bytes"
	"fmt"
	"strings"
)

// Error replies of commands. Each means that the command failed and changed nothing. The texts are
// Redis's, because clients and test suites compare them.
const (
	ErrWrongType  = "WRONGTYPE Operation against a key holding the wrong kind of value"
	ErrSyntax     = "ERR syntax error"
	ErrNotInteger = "ERR value is not an integer or out of range"
	ErrNotInt32   = "ERR value is out of range, value must between -2147483648 and 2147483647"
	ErrNotFloat   = "ERR value is not a valid float"
	ErrOverflow   = "ERR increment or decrement would overflow"

	ErrNaNOrInfinity = "ERR increment would produce NaN or Infinity"

	ErrStringTooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
	ErrExpireNX      = "ERR NX and XX, GT or LT options at the same time are not compatible"
	ErrExpireGTLT    = "ERR GT and LT options at the same time are not compatible"

	ErrOOM = "OOM command not allowed when used memory > 'maxmemory'."

	ErrHashSlot = "ERR Invalid slot"

	ErrNoSuchKey       = "ERR no such key"
	ErrOutOfRange      = "ERR value is out of range"
	ErrIndexOutOfRange = "ERR index out of range"
	ErrInvalidCursor   = "ERR invalid cursor"

	ErrDBIndex     = "ERR DB index is out of range"
	ErrBusyKey     = "BUSYKEY Target key name already exists."
	ErrBadDump     = "ERR DUMP payload version or checksum are wrong"
	ErrBadDumpBody = "ERR Bad data format"
	ErrNotInt64    = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"
	ErrNotPositive = "ERR value is out of range, must be positive"
	ErrNumKeys     = "ERR numkeys should be greater than 0"
	ErrNumKeysArgs = "ERR Number of keys can't be greater than number of args"
	ErrLimit       = "ERR LIMIT can't be negative"
	ErrCountZero   = "ERR COUNT must be > 0"
)

// ErrArity is the error for a wrong number of arguments.
func ErrArity(spec *Spec) string { return ErrArityOf(spec.Name) }

// ErrArityOf is ErrArity for the name of a command.
func ErrArityOf(command string) string {
	return "ERR wrong number of arguments for '" + command + "' command"
}

// ErrInvalidExpire is the error for an expiry out of range.
func ErrInvalidExpire(command string) string {
	return "ERR invalid expire time in '" + command + "' command"
}

// ErrUnknownCommand is the error for a command that is not in the table. It quotes the command and
// its arguments as far as Redis does: 128 bytes.
func ErrUnknownCommand(args [][]byte) string {
	const quotedMax = 128
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= quotedMax {
			break
		}
		fmt.Fprintf(&b, "'%s' ", Clip(a, quotedMax-b.Len()))
	}
	return fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", Clip(args[0], quotedMax), b.String())
}

// ErrUnknownSubcommand is the error for a subcommand that its container does not have.
func ErrUnknownSubcommand(args [][]byte) string {
	return fmt.Sprintf("ERR unknown subcommand '%s'. Try %s HELP.", Clip(args[1], 128), strings.ToUpper(string(args[0])))
}

// Clip cuts an argument that is quoted in an error to max bytes, and like C at the first zero byte.
func Clip(b []byte, max int) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if len(b) > max {
		return b[:max]
	}
	return b
}
