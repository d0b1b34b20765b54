package acl

import (
	"slices"
	"strings"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// access is the kind of access that a key pattern allows.
type access uint8

const (
	reads access = 1 << iota
	writes
	readsAndWrites = reads | writes
)

// keyPattern allows access to the keys that match.
type keyPattern struct {
	access access
	glob   string
}

func (p keyPattern) String() string {
	switch p.access {
	case reads:
		return "%R~" + p.glob
	case writes:
		return "%W~" + p.glob
	}
	return "~" + p.glob
}

// Selector allows commands on keys and channels.
type Selector struct {
	allKeys, allChannels bool
	keys                 []keyPattern
	channels             []string
	// allowed holds a bit for each row of the command table. all is set if a rule has set every
	// bit; that rule also covers future commands.
	allowed []uint64
	all     bool
	// rules are the rules on commands since allCommands or noCommands.
	fromAll bool
	rules   []string
	// firstArgs are the first arguments with which a command is allowed that is not allowed
	// otherwise ("+select|0"), by the row's number.
	firstArgs map[int][]string
}

const wordBits = 64

func newSelector(allChannels bool) *Selector {
	return &Selector{allChannels: allChannels, allowed: make([]uint64, (commands.Rows()+wordBits-1)/wordBits)}
}

func (s *Selector) clone() *Selector {
	c := *s
	c.keys, c.channels = slices.Clone(s.keys), slices.Clone(s.channels)
	c.allowed, c.rules = slices.Clone(s.allowed), slices.Clone(s.rules)
	c.firstArgs = nil
	for id, list := range s.firstArgs { // order does not matter: each id once
		c.setFirstArgs(id, slices.Clone(list))
	}
	return &c
}

func (s *Selector) setFirstArgs(id int, list []string) {
	if s.firstArgs == nil {
		s.firstArgs = map[int][]string{}
	}
	s.firstArgs[id] = list
}

// set applies one rule.
func (s *Selector) set(rule string) error {
	switch strings.ToLower(rule) {
	case "allkeys", "~*":
		s.allKeys, s.keys = true, nil
		return nil
	case "resetkeys":
		s.allKeys, s.keys = false, nil
		return nil
	case "allchannels", "&*":
		s.allChannels, s.channels = true, nil
		return nil
	case "resetchannels":
		s.allChannels, s.channels = false, nil
		return nil
	case "allcommands", "+@all":
		s.setAll(true)
		return nil
	case "nocommands", "-@all":
		s.setAll(false)
		return nil
	case "":
		return ErrSyntax
	}
	switch rule[0] {
	case '~', '%':
		return s.addKeys(rule)
	case '&':
		return s.addChannels(rule[1:])
	case '+', '-':
		return s.setCommands(rule)
	}
	return ErrSyntax
}

func (s *Selector) addKeys(rule string) error {
	if s.allKeys {
		return ErrAfterAllKeys
	}
	p := keyPattern{readsAndWrites, rule[1:]}
	if rule[0] == '%' {
		var ok bool
		if p.access, p.glob, ok = splitAccess(rule[1:]); !ok {
			return ErrSyntax
		}
	}
	if hasSpaces(p.glob) {
		return ErrSyntax
	}
	for i := range s.keys {
		if s.keys[i].glob == p.glob {
			s.keys[i].access |= p.access
			return nil
		}
	}
	s.keys = append(s.keys, p)
	return nil
}

// splitAccess reads "R~glob", "W~glob" or "RW~glob". Like Redis it treats a missing "~" as an empty
// pattern.
func splitAccess(text string) (a access, glob string, ok bool) {
	for i := range len(text) {
		switch c := text[i] | 0x20; {
		case c == 'r' && a&reads == 0:
			a |= reads
		case c == 'w' && a&writes == 0:
			a |= writes
		case text[i] == '~':
			return a, text[i+1:], a != 0
		default:
			return 0, "", false
		}
	}
	return a, "", a != 0
}

func (s *Selector) addChannels(glob string) error {
	switch {
	case s.allChannels:
		return ErrAfterChannels
	case hasSpaces(glob):
		return ErrSyntax
	case !slices.Contains(s.channels, glob):
		s.channels = append(s.channels, glob)
	}
	return nil
}

// hasSpaces reports whether a text cannot be part of a line of rules.
func hasSpaces(text string) bool { return strings.ContainsAny(text, spaces) }

const spaces = " \t\n\v\f\r\x00"

// Fields splits a line of rules. The separators are only characters that no rule can contain: bytes
// that Unicode calls blanks may be part of a pattern.
func Fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(spaces, r) })
}

func (s *Selector) setAll(allow bool) {
	word := uint64(0)
	if allow {
		word = ^word
	}
	for i := range s.allowed {
		s.allowed[i] = word
	}
	s.all, s.fromAll = allow, allow
	s.rules, s.firstArgs = nil, nil
}

// setCommands applies a rule on commands or on a category.
func (s *Selector) setCommands(rule string) error {
	allow, name := rule[0] == '+', strings.ToLower(rule[1:])
	if category, ok := strings.CutPrefix(name, "@"); ok {
		if !slices.Contains(command.AllCategories(), category) {
			return ErrUnknown
		}
		s.setCategory(category, allow)
		s.note(name, allow)
		return nil
	}
	if container, arg, ok := cutLast(name); ok && allow {
		return s.allowSub(container, arg, name)
	}
	spec := known(name)
	if spec == nil {
		return ErrUnknown
	}
	s.setCommand(spec, allow)
	s.note(name, allow)
	return nil
}

// cutLast splits a name at its last bar.
func cutLast(name string) (before, after string, found bool) {
	if i := strings.LastIndexByte(name, '|'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}

// known finds a row that users may see.
func known(name string) *command.Spec {
	if spec := commands.Get(name); spec != nil && !spec.Internal() {
		return spec
	}
	return nil
}

// allowSub allows a subcommand, or a command with a certain first argument.
func (s *Selector) allowSub(container, arg, name string) error {
	spec := known(container)
	switch {
	case spec == nil:
		return ErrUnknown
	case spec.Parent() != nil:
		return ErrFirstArg
	case arg == "", hasSpaces(arg):
		return ErrSyntax
	case len(spec.Sub) > 0:
		sub := known(name)
		if sub == nil {
			return ErrUnknown
		}
		s.setCommand(sub, true)
	default:
		list := s.firstArgs[spec.Number()]
		if !slices.Contains(list, arg) {
			s.setFirstArgs(spec.Number(), append(list, arg))
		}
	}
	s.note(name, true)
	return nil
}

// setCommand allows or forbids a command with all its subcommands.
func (s *Selector) setCommand(spec *command.Spec, allow bool) {
	s.setBit(spec, allow)
	delete(s.firstArgs, spec.Number())
	for _, sub := range spec.Sub {
		s.setBit(sub, allow)
	}
}

func (s *Selector) setBit(spec *command.Spec, allow bool) {
	word, bit := spec.Number()/wordBits, uint64(1)<<(spec.Number()%wordBits)
	if allow {
		s.allowed[word] |= bit
		return
	}
	s.allowed[word] &^= bit
	s.all = false
}

func (s *Selector) setCategory(category string, allow bool) {
	in := func(spec *command.Spec) bool { return slices.Contains(spec.Categories(), category) }
	for _, spec := range commands.All() {
		if spec.Internal() {
			continue
		}
		if in(spec) {
			s.setCommand(spec, allow)
		}
		for _, sub := range spec.Sub {
			if in(sub) {
				s.setCommand(sub, allow)
			}
		}
	}
}

// note adds a rule on commands, and removes the rules that it overrides: those on the same name,
// and on subcommands and first arguments of it.
func (s *Selector) note(name string, allow bool) {
	s.rules = slices.DeleteFunc(s.rules, func(old string) bool {
		return old[1:] == name || strings.HasPrefix(old[1:], name+"|")
	})
	sign := "-"
	if allow {
		sign = "+"
	}
	s.rules = append(s.rules, sign+name)
}

// Commands are the rules on commands, as ACL GETUSER shows them.
func (s *Selector) Commands() string {
	base := "-@all"
	if s.fromAll {
		base = "+@all"
	}
	return strings.Join(append([]string{base}, s.rules...), " ")
}

// Keys are the rules on keys, as ACL GETUSER shows them.
func (s *Selector) Keys() string {
	if s.allKeys {
		return "~*"
	}
	list := make([]string, len(s.keys))
	for i, p := range s.keys {
		list[i] = p.String()
	}
	return strings.Join(list, " ")
}

// Channels are the rules on channels, as ACL GETUSER shows them.
func (s *Selector) Channels() string {
	if s.allChannels {
		return "&*"
	}
	list := make([]string, len(s.channels))
	for i, glob := range s.channels {
		list[i] = "&" + glob
	}
	return strings.Join(list, " ")
}

// String returns the selector as rules: keys, channels, commands.
func (s *Selector) String() string {
	var parts []string
	if s.allKeys {
		parts = append(parts, "~*")
	}
	for _, p := range s.keys {
		if p.glob == "*" && p.access == readsAndWrites {
			// "~*" would be read as allkeys, which takes no more patterns.
			parts = append(parts, "%RW~*")
			continue
		}
		parts = append(parts, p.String())
	}
	if !s.allChannels {
		parts = append(parts, "resetchannels")
	}
	if channels := s.Channels(); channels != "" {
		parts = append(parts, channels)
	}
	return strings.Join(append(parts, s.Commands()), " ")
}
