package command

// The table of all commands.

var table = NewTable(families...)

// All returns the commands by name, without subcommands. The caller must not
// change the slice.
func All() []*Spec { return table.All() }

// Rows is how many rows there are, subcommands included.
func Rows() int { return table.Rows() }

// Get returns the command, or the subcommand "parent|sub", of a lower-case
// name.
func Get(name string) *Spec { return table.Get(name) }

// Lookup finds the command of a request; for a container the subcommand. It
// returns nil when there is none; if the container alone is known, and its
// subcommand is not, container is set.
func Lookup(args [][]byte) (spec, container *Spec) { return table.Lookup(args) }

// Whole returns the table that the functions of this package read.
func Whole() *Table { return table }

// families is the whole table, in the order documentation lists it.
var families = [][]*Spec{
	StringFamily,
	ListFamily,
	HashFamily,
	FieldExpiryFamily,
	SetFamily,
	SortedSetFamily,
	StreamFamily,
	BitmapFamily,
	HyperLogLogFamily,
	GeoFamily,
	SortFamily,
	KeyFamily,
	KeyspaceFamily,
	PubSubFamily,
	ScriptingFamily,
	FunctionFamily,
	InternalFamily,
	InternalScriptFamily,
	InternalStreamFamily,
	ConnectionFamily,
	ServerFamily,
	ACLFamily,
	IntrospectionFamily,
	ModuleFamily,
	ClusterFamily,
}
