package acl

import (
	"slices"

	"lockstep/engine/command"
	"lockstep/engine/glob"
)

// MayAll reports whether the user may do everything, so that no checks are needed.
func (u *User) MayAll() bool { return u.everything }

// Judge checks whether the user may run a command with these arguments. Their number must be
// correct. If no selector allows the command, the denial is that of the selector that passed the
// most checks, as in Redis.
func (u *User) Judge(spec *command.Spec, args [][]byte) command.Denial {
	if u.everything {
		return command.Denial{}
	}
	worst := command.Denial{Reason: command.DeniedCommand}
	for _, s := range u.selectors {
		d := s.judge(spec, args)
		if d.Reason == command.Allowed {
			return d
		}
		if d.Reason > worst.Reason || d.Reason == worst.Reason && d.Arg > worst.Arg {
			worst = d
		}
	}
	return worst
}

func (s *Selector) judge(spec *command.Spec, args [][]byte) command.Denial {
	if !s.all && !s.allows(spec, args) {
		return command.Denial{Reason: command.DeniedCommand}
	}
	if !s.allKeys {
		var buf [8]command.KeyRef
		for _, k := range spec.AppendKeys(buf[:0], args) {
			if !s.reaches(args[k.Pos], accessOf(spec.FlagsOf(args, k))) {
				return command.Denial{Reason: command.DeniedKey, Arg: k.Pos}
			}
		}
	}
	if !s.allChannels {
		if at := s.deafTo(spec, args); at > 0 {
			return command.Denial{Reason: command.DeniedChannel, Arg: at}
		}
	}
	return command.Denial{}
}

// allows reports whether the command is allowed, ignoring keys. Logging in is always allowed.
func (s *Selector) allows(spec *command.Spec, args [][]byte) bool {
	if spec.Is(command.NoAuth) || s.allowed[spec.Number()/wordBits]&(1<<(spec.Number()%wordBits)) != 0 {
		return true
	}
	if len(args) < 2 || spec.Parent() != nil {
		return false
	}
	return slices.ContainsFunc(s.firstArgs[spec.Number()], func(arg string) bool { return equalFold(args[1], arg) })
}

// equalFold reports whether a equals the lower-case text b, ignoring ASCII case.
func equalFold(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != b[i] {
			return false
		}
	}
	return true
}

func accessOf(f command.KeyFlag) access {
	var a access
	if f&command.KeyAccess != 0 {
		a |= reads
	}
	if f&(command.KeyInsert|command.KeyDelete|command.KeyUpdate) != 0 {
		a |= writes
	}
	return a
}

// reaches reports whether a key allows this access.
func (s *Selector) reaches(key []byte, a access) bool {
	for _, p := range s.keys {
		if p.access&a == a && glob.Match([]byte(p.glob), key, false) {
			return true
		}
	}
	return false
}

// deafTo is the place of the first channel that is not allowed, or 0 if all are.
func (s *Selector) deafTo(spec *command.Spec, args [][]byte) (at int) {
	last, pattern := channelsOf(spec, len(args))
	for i := 1; i <= last; i++ {
		if !s.hears(args[i], pattern) {
			return i
		}
	}
	return 0
}

// channelsOf returns the place of the last channel among n arguments, and whether the channels are
// patterns. Unsubscribing is always allowed.
func channelsOf(spec *command.Spec, n int) (last int, pattern bool) {
	switch spec.Name {
	case "publish", "spublish":
		return 1, false
	case "subscribe", "ssubscribe":
		return n - 1, false
	case "psubscribe":
		return n - 1, true
	}
	return 0, false
}

func (s *Selector) hears(channel []byte, pattern bool) bool {
	if s.allChannels {
		return true
	}
	return slices.ContainsFunc(s.channels, func(g string) bool {
		if pattern {
			return g == string(channel)
		}
		return glob.Match([]byte(g), channel, false)
	})
}

// Hears reports whether some selector allows a channel, or a pattern of channels: a client may stay
// subscribed to it.
func (u *User) Hears(channel string, pattern bool) bool {
	return slices.ContainsFunc(u.selectors, func(s *Selector) bool { return s.hears([]byte(channel), pattern) })
}

// MayReadAll reports whether the user may run the command and read every key with it. SORT reads
// keys by patterns, which no argument names.
func (u *User) MayReadAll(spec *command.Spec, args [][]byte) bool {
	return slices.ContainsFunc(u.selectors, func(s *Selector) bool {
		if s.judge(spec, args).Reason != command.Allowed {
			return false
		}
		return s.allKeys || slices.ContainsFunc(s.keys, func(p keyPattern) bool { return p.access&reads != 0 && p.glob == "*" })
	})
}
