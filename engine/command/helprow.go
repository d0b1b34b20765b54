package command

// HelpRow is the row of a container's HELP, which the gateway answers.
func HelpRow(container, group, since string, cats Category) *Spec {
	return &Spec{
		Name: container + "|help", Arity: 2, Scope: ScopeNode,
		Flags: Loading | Stale, Cats: cats,
		Group: group, Since: since,
		Summary: "Describes the subcommands.", Complexity: "O(1)",
	}
}
