// Package arg describes the arguments of commands, for COMMAND DOCS and docs/commands.md.
//
// A row of the command table lists its arguments as Arg values. They are only documentation: no
// command uses them to parse its arguments. With the functions of this package a row fits on one
// line, which a struct literal for each argument would not:
//
//	arg.Key("key", 1), arg.Of("count", "integer").After("COUNT").Opt()
package arg

// Arg documents one argument for COMMAND DOCS (redis.io, "Command arguments").
type Arg struct {
	Name, Type, Token, Since string
	// KeySpec is the index of the key spec that this argument belongs to, plus one. 0 means none.
	KeySpec                           int
	Optional, Multiple, MultipleToken bool
	Sub                               []Arg
}

// Of is an argument of a type.
func Of(name, typ string) Arg { return Arg{Name: name, Type: typ} }

// Key is a key of the row's key spec number spec, counted from one.
func Key(name string, spec int) Arg { return Arg{Name: name, Type: "key", KeySpec: spec} }

// Token is an argument that is a fixed word.
func Token(name, token string) Arg { return Arg{Name: name, Type: "pure-token", Token: token} }

// OneOf is one of several arguments.
func OneOf(name string, sub ...Arg) Arg { return Arg{Name: name, Type: "oneof", Sub: sub} }

// Block is several arguments in a row.
func Block(name string, sub ...Arg) Arg { return Arg{Name: name, Type: "block", Sub: sub} }

// After puts a fixed word before the argument.
func (a Arg) After(token string) Arg { a.Token = token; return a }

// AddedIn names the version of Redis that added the argument.
func (a Arg) AddedIn(version string) Arg { a.Since = version; return a }

// Opt lets the argument be left out.
func (a Arg) Opt() Arg { a.Optional = true; return a }

// Many lets the argument come several times.
func (a Arg) Many() Arg { a.Multiple = true; return a }

// ManyEach lets the argument come several times, each with its token.
func (a Arg) ManyEach() Arg { a.Multiple, a.MultipleToken = true, true; return a }

// Arguments that several commands have.
var (
	NumKeys = Of("numkeys", "integer")
	Count   = Of("count", "integer").After("COUNT").Opt()
	Match   = Of("pattern", "pattern").After("MATCH").Opt()
	Limit   = Block("offset_count", Of("offset", "integer"), Of("count", "integer")).After("LIMIT").Opt()
	Order   = OneOf("order", Token("asc", "ASC"), Token("desc", "DESC")).Opt()
)
