package command

// Shorthand for the arguments that COMMAND DOCS describes (Spec.Args).

func arg(name, typ string) Arg { return Arg{Name: name, Type: typ} }

// argKey is a key of the row's key spec number spec, counted from one.
func argKey(name string, spec int) Arg { return Arg{Name: name, Type: "key", KeySpec: spec} }

// argToken is an argument that is a fixed word.
func argToken(name, token string) Arg { return Arg{Name: name, Type: "pure-token", Token: token} }

// argOneOf is one of several arguments.
func argOneOf(name string, sub ...Arg) Arg { return Arg{Name: name, Type: "oneof", Sub: sub} }

// argBlock is several arguments in a row.
func argBlock(name string, sub ...Arg) Arg { return Arg{Name: name, Type: "block", Sub: sub} }

// token puts a fixed word before the argument.
func (a Arg) token(token string) Arg { a.Token = token; return a }

func (a Arg) since(version string) Arg { a.Since = version; return a }

func (a Arg) optional() Arg { a.Optional = true; return a }

func (a Arg) multiple() Arg { a.Multiple = true; return a }

// multipleToken lets the argument come several times, each with its token.
func (a Arg) multipleToken() Arg { a.Multiple, a.MultipleToken = true, true; return a }

// Arguments that several commands have.
var (
	argNumKeys = arg("numkeys", "integer")
	argCount   = arg("count", "integer").token("COUNT").optional()
	argMatch   = arg("pattern", "pattern").token("MATCH").optional()
	argLimit   = argBlock("offset_count", arg("offset", "integer"), arg("count", "integer")).token("LIMIT").optional()
	argOrder   = argOneOf("order", argToken("asc", "ASC"), argToken("desc", "DESC")).optional()
)

// Arg documents one argument for COMMAND DOCS (redis.io, "Command arguments").
type Arg struct {
	Name, Type, Token, Since string
	// KeySpec is the index of the key spec this argument belongs to plus one;
	// 0: none.
	KeySpec                           int
	Optional, Multiple, MultipleToken bool
	Sub                               []Arg
}
