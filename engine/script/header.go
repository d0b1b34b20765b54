package script

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Flags are the flags of a script. They decide which commands it may call and which locks it takes.
type Flags uint16

const (
	// NoWrites means that the script calls no commands that write.
	NoWrites Flags = 1 << iota
	// AllowOOM means that the script may run when memory is full.
	AllowOOM
	// AllowStale means that the script may run even if data may be stale.
	AllowStale
	// NoCluster means that the script is refused in cluster mode.
	NoCluster
	// AllowCrossSlotKeys means that the keys may belong to several hash slots.
	AllowCrossSlotKeys
	// AllowKeyLocking means that the script uses, and locks, only the keys that it is given.
	AllowKeyLocking
)

var flagNames = []struct {
	name string
	flag Flags
}{
	{"no-writes", NoWrites},
	{"allow-oom", AllowOOM},
	{"allow-stale", AllowStale},
	{"no-cluster", NoCluster},
	{"allow-cross-slot-keys", AllowCrossSlotKeys},
	{"allow-key-locking", AllowKeyLocking},
}

// ParseFlag returns the flag of a name.
func ParseFlag(name string) (Flags, bool) {
	for _, f := range flagNames {
		if f.name == name {
			return f.flag, true
		}
	}
	return 0, false
}

// Names lists the flags that are set.
func (f Flags) Names() []string {
	var out []string
	for _, n := range flagNames {
		if f&n.flag != 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// Header is a script's first line.
type Header struct {
	// Present is set if the script begins with "#!". Otherwise it runs in Redis's compatibility
	// mode, which allows anything.
	Present bool
	Flags   Flags
}

// ReadHeader reads a script's first line. An error is the whole text of the
// reply.
func ReadHeader(source []byte) (Header, error) {
	h, _, err := parseHeader(source)
	return h, err
}

// parseHeader reads the first line and returns where the body begins. The body keeps the end of the
// first line, so that line numbers count from the top.
func parseHeader(source []byte) (h Header, body int, err error) {
	if len(source) < 2 || source[0] != '#' || source[1] != '!' {
		return Header{}, 0, nil
	}
	body = bytes.IndexByte(source, '\n')
	if body < 0 {
		return Header{}, 0, errors.New("ERR Invalid script shebang")
	}
	words := strings.Fields(string(source[:body]))
	h = Header{Present: true}
	if words[0] != "#!lua" {
		return h, 0, fmt.Errorf("ERR Unexpected engine in script shebang: %s", words[0])
	}
	for _, w := range words[1:] {
		flags, ok := strings.CutPrefix(w, "flags=")
		if !ok {
			return h, 0, fmt.Errorf("ERR Unknown lua shebang option: %s", w)
		}
		if flags == "" {
			continue
		}
		for _, name := range strings.Split(flags, ",") {
			f, ok := ParseFlag(name)
			if !ok {
				return h, 0, fmt.Errorf("ERR Unexpected flag in script shebang: %s", name)
			}
			h.Flags |= f
		}
	}
	return h, body, nil
}
