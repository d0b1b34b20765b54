package acl

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"
)

// User is the permissions of one user. A User that others can see does not change any more: Apply
// makes a new one.
type User struct {
	on, noPass bool
	// sanitize is the flag about the payloads of RESTORE. It is stored and shown, but payloads are
	// always checked here.
	sanitize string
	// passwords are SHA-256 sums, in hex.
	passwords []string
	// selectors begins with the root selector.
	selectors []*Selector
	// everything is set if the root selector allows everything, so that no checks are needed.
	everything bool
}

// hashHexLen is the length of a password in its stored form.
const hashHexLen = 2 * sha256.Size

// NewUser is the user with which ACL SETUSER begins: off, and with no permissions, except for
// channels if allChannels is set (acl-pubsub-default).
func NewUser(allChannels bool) *User {
	return &User{selectors: []*Selector{newSelector(allChannels)}}
}

// DefaultRules are the rules of the default user until somebody changes them.
const DefaultRules = "on nopass ~* &* +@all"

// Read makes a user from the text of Rules. It leaves out rules that it cannot parse, because a
// newer program may have written them. Such a user has fewer permissions and not more, unless the
// rule forbids a command that this program does not have.
func Read(rules string) *User {
	u := NewUser(false)
	for _, rule := range mergeFields(Fields(rules)) {
		_ = u.set(rule, false)
	}
	u.finish()
	return u
}

func mergeFields(fields []string) []string {
	merged, _ := Merge(fields)
	return merged
}

// Merge joins the words of selectors, "(~a" "+get)" for instance. bad is the word whose parenthesis
// is not closed, or "".
func Merge(words []string) (merged []string, bad string) {
	open := ""
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "(") && !strings.HasSuffix(word, ")"):
			// A parenthesis that is open already is forgotten, as in Redis.
			open, bad = word, word
			continue
		case open != "":
			open += " " + word
		default:
			merged = append(merged, word)
			continue
		}
		if strings.HasSuffix(word, ")") {
			merged = append(merged, open)
			open, bad = "", ""
		}
	}
	return merged, bad
}

// Apply returns the user with one more rule.
func (u *User) Apply(rule string, allChannels bool) (*User, error) {
	next := u.clone()
	if err := next.set(rule, allChannels); err != nil {
		return nil, err
	}
	if len(next.Rules()) > RulesBytesMax {
		return nil, ErrTooLong
	}
	next.finish()
	return next, nil
}

func (u *User) clone() *User {
	c := *u
	c.passwords = slices.Clone(u.passwords)
	c.selectors = make([]*Selector, len(u.selectors))
	for i, s := range u.selectors {
		c.selectors[i] = s.clone()
	}
	return &c
}

func (u *User) finish() {
	root := u.selectors[0]
	u.everything = root.all && root.allKeys && root.allChannels
}

func (u *User) set(rule string, allChannels bool) error {
	switch strings.ToLower(rule) {
	case "":
		return nil
	case "on", "off":
		u.on = len(rule) == len("on")
	case "nopass":
		u.noPass, u.passwords = true, nil
	case "resetpass":
		u.noPass, u.passwords = false, nil
	case "skip-sanitize-payload", "sanitize-payload":
		u.sanitize = strings.ToLower(rule)
	case "clearselectors":
		u.selectors = u.selectors[:1]
	case "reset":
		*u = *NewUser(allChannels)
		u.sanitize = "sanitize-payload"
	default:
		return u.setOther(rule, allChannels)
	}
	return nil
}

func (u *User) setOther(rule string, allChannels bool) error {
	switch rule[0] {
	case '>':
		return u.addPassword(hash(rule[1:]))
	case '#':
		if !isHash(rule[1:]) {
			return ErrHash
		}
		return u.addPassword(rule[1:])
	case '<':
		return u.removePassword(hash(rule[1:]))
	case '!':
		if !isHash(rule[1:]) {
			return ErrHash
		}
		return u.removePassword(rule[1:])
	}
	if len(rule) > 1 && rule[0] == '(' && rule[len(rule)-1] == ')' {
		return u.addSelector(rule[1:len(rule)-1], allChannels)
	}
	return u.selectors[0].set(rule)
}

func (u *User) addSelector(text string, allChannels bool) error {
	s := newSelector(allChannels)
	for _, rule := range Fields(text) {
		if strings.HasSuffix(rule, ")") {
			// In its written form it would end the selector. Redis accepts it, and reads another
			// user back.
			return ErrSyntax
		}
		if err := s.set(rule); err != nil {
			return err
		}
	}
	u.selectors = append(u.selectors, s)
	return nil
}

func (u *User) addPassword(hash string) error {
	if !slices.Contains(u.passwords, hash) {
		u.passwords = append(u.passwords, hash)
	}
	u.noPass = false
	return nil
}

func (u *User) removePassword(hash string) error {
	i := slices.Index(u.passwords, hash)
	if i < 0 {
		return ErrNoPassword
	}
	u.passwords = slices.Delete(u.passwords, i, i+1)
	return nil
}

func hash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func isHash(text string) bool {
	return len(text) == hashHexLen && strings.Trim(text, "0123456789abcdef") == ""
}

// Opens reports whether the user may log in with a password. The time that it takes reveals nothing
// about the passwords.
func (u *User) Opens(password string) bool {
	given, right := []byte(hash(password)), 0
	for _, p := range u.passwords {
		right |= subtle.ConstantTimeCompare(given, []byte(p))
	}
	return u.on && (u.noPass || right == 1)
}

// On reports whether the user may log in at all.
func (u *User) On() bool { return u.on }

// NoPass reports whether the user may log in with any password.
func (u *User) NoPass() bool { return u.noPass }

// Flags are the flags of ACL GETUSER.
func (u *User) Flags() []string {
	flags := []string{"off"}
	if u.on {
		flags[0] = "on"
	}
	if u.noPass {
		flags = append(flags, "nopass")
	}
	if u.sanitize != "" {
		flags = append(flags, u.sanitize)
	}
	return flags
}

// Passwords are the SHA-256 sums, in hex.
func (u *User) Passwords() []string { return u.passwords }

// Selectors are the root selector and then the others.
func (u *User) Selectors() []*Selector { return u.selectors }

// Rules is the user in the form of ACL LIST, without the name. Read makes the same user of it.
func (u *User) Rules() string {
	parts := u.Flags()
	for _, p := range u.passwords {
		parts = append(parts, "#"+p)
	}
	return strings.Join(append(parts, u.Permissions()), " ")
}

// Permissions are the rules about commands, keys and channels, without those about logging in. Read makes a
// user of them that has the same permissions.
func (u *User) Permissions() string {
	parts := make([]string, len(u.selectors))
	for i, s := range u.selectors {
		parts[i] = s.String()
		if i > 0 {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, " ")
}
