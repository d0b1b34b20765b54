package command

const (
	aclAdmin  = Admin | NoScript | Loading | Stale
	aclPublic = NoScript | Loading | Stale
	ofUsers   = "O(N). Where N is the number of configured users."
)

// aclFamily are the commands on users. Their handlers are in proto/admin.
var aclFamily = []*Spec{{
	Name: "acl", Arity: -2, Scope: ScopeNode,
	Group: "server", Since: "6.0.0",
	Summary: "A container for commands on users and what they may do.", Complexity: "Depends on subcommand.",
	Sub: []*Spec{
		aclRow("cat", -2, aclPublic, "Lists the categories of commands, or the commands of one.", "O(1) since the categories and commands are a fixed set.",
			Arg{Name: "categoryname", Type: "string", Optional: true}),
		aclRow("deluser", -3, aclAdmin, "Deletes users and cuts their connections off.", "O(1) amortized time considering the typical user.",
			Arg{Name: "username", Type: "string", Multiple: true}),
		dryRunRow(),
		aclRow("genpass", -2, aclPublic, "Makes up a password.", "O(1)", Arg{Name: "bits", Type: "integer", Optional: true}),
		aclRow("getuser", 3, aclAdmin, "Returns the rules of a user.", "O(N). Where N is the number of password, command and pattern rules that the user has.",
			Arg{Name: "username", Type: "string"}),
		aclRow("help", 2, Loading|Stale, "Describes the subcommands.", "O(1)"),
		aclRow("list", 2, aclAdmin, "Lists the users with their rules, as in a file.", ofUsers),
		aclRow("load", 2, aclAdmin, "Puts the users of the node's ACL file in the place of the cluster's.", ofUsers),
		aclRow("log", -2, aclAdmin, "Returns what this node refused of late, or forgets it.", "O(N) with N being the number of entries shown.",
			Arg{Name: "operation", Type: "oneof", Optional: true, Sub: []Arg{
				{Name: "count", Type: "integer"}, {Name: "reset", Type: "pure-token", Token: "RESET"},
			}}),
		aclRow("save", 2, aclAdmin, "Writes the cluster's users into the node's ACL file.", ofUsers),
		setUserRow(),
		aclRow("users", 2, aclAdmin, "Lists the names of the users.", ofUsers),
		aclRow("whoami", 2, aclPublic, "Returns the name of the connection's user.", "O(1)"),
	},
}}

func aclRow(name string, arity int, flags Flag, summary, complexity string, args ...Arg) *Spec {
	return &Spec{
		Name: "acl|" + name, Arity: arity, Scope: ScopeNode, Flags: flags,
		Group: "server", Since: "6.0.0", Summary: summary, Complexity: complexity, Args: args,
	}
}

func dryRunRow() *Spec {
	row := aclRow("dryrun", -4, aclAdmin, "Tells whether a user may run a command, and does not run it.", "O(1).",
		Arg{Name: "username", Type: "string"}, Arg{Name: "command", Type: "string"}, Arg{Name: "arg", Type: "string", Optional: true, Multiple: true})
	row.Since = "7.0.0"
	return row
}

func setUserRow() *Spec {
	row := aclRow("setuser", -3, aclAdmin, "Makes a user, or changes its rules.", "O(N). Where N is the number of rules provided.",
		Arg{Name: "username", Type: "string"}, Arg{Name: "rule", Type: "string", Optional: true, Multiple: true})
	row.Secrets = secretsFrom(3)
	return row
}
