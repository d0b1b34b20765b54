package config

import "strings"

// Policy is what Lockstep does with a directive.
type Policy uint8

const (
	// Honoured directives do what their name says.
	Honoured Policy = iota
	// Ignored directives are kept and shown, and have no effect.
	Ignored
	// Fixed directives state a fact that no setting changes.
	Fixed
	// Refused directives would promise what Lockstep does not do.
	Refused
)

func (p Policy) String() string {
	return [...]string{"honoured", "ignored", "fixed", "refused"}[p]
}

// Flags say when and for whom a directive may change.
type Flags uint16

const (
	// Immutable directives are read at the start and never again.
	Immutable Flags = 1 << iota
	// Secret values are masked in logs, in the effective configuration and in
	// SLOWLOG. CONFIG GET shows them, as in Redis, unless they are also concealed.
	Secret
	// Replicated directives hold for the whole cluster: a change goes through
	// the log. All others hold for one node.
	Replicated
	// CreationOnly directives are read when the state of the node or of the cluster
	// is made. A node that has state ignores them.
	CreationOnly
	// fileOnly directives are commands to the parser of redis.conf, not settings:
	// CONFIG GET and CONFIG SET do not know them.
	fileOnly
	// repeats means that the words of several lines of one source add up.
	repeats
	// hidden directives are shown by CONFIG GET only for the exact name.
	hidden
	// concealed directives are secrets that CONFIG GET does not show.
	concealed
	// guarded directives are those that CONFIG SET changes in Redis only if
	// enable-protected-configs allows it.
	guarded
)

// Directive is a row of the table.
type Directive struct {
	Name    string
	Aliases []string
	Group   string
	Policy  Policy
	Flags   Flags
	// Default is the value as one would write it in the file.
	Default string
	// Doc is one line: what the directive does, units included.
	Doc string
	// More is the rest of the explanation: exceptions, bounds, where to read on.
	// --help prints it behind Doc, the documentation under the table.
	More string
	// Why gives the reason for a policy other than Honoured.
	Why string
	// Differs gives the reason for a default that is not Redis's.
	Differs string

	// kind reads and writes the value.
	kind kind
	// derive computes the default from the other settings, in the form of
	// Default; deriveDoc says the same in words.
	derive    func(*Settings) string
	deriveDoc string
	// refuses lists values that are refused although the policy takes others.
	refuses []string

	// between is a word that is put between the words of two lines, or "" for none.
	between string

	// row is the directive's place in the table.
	row int
}

// Form is the form of the value, for people: "yes|no", "0..65535".
func (d *Directive) Form() string { return d.kind.form() }

// Has reports whether all the flags are set.
func (d *Directive) Has(f Flags) bool { return d.Flags&f == f }

// Names are the directive's name and its aliases.
func (d *Directive) Names() []string { return append([]string{d.Name}, d.Aliases...) }

const envPrefix = "LOCKSTEP_"

// envName is the environment variable that sets a directive.
func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// DefaultText is the default for people.
func (d *Directive) DefaultText() string {
	if d.derive != nil {
		return d.deriveDoc
	}
	return d.Default
}
