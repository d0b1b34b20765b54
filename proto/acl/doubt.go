package acl

import "lockstep/engine/command"

// Doubt is how much a node still trusts its users after a long time without confirmation from the
// cluster.
type Doubt uint8

const (
	// NoDoubt means that the cluster has confirmed the users lately.
	NoDoubt Doubt = iota
	// DoubtAdmin means that commands of @admin are refused, except queries about the cluster.
	DoubtAdmin
	// DoubtAll means that every command is refused, including AUTH.
	DoubtAll
)

// InDoubt returns the same users with another doubt.
func (u *Users) InDoubt(d Doubt) *Users {
	next := *u
	next.doubt = d
	return &next
}

// Doubt is the doubt about these users.
func (u *Users) Doubt() Doubt { return u.doubt }

// Doubts reports whether a command is refused to every user until the cluster confirms the users
// again.
func (u *Users) Doubts(spec *command.Spec) bool {
	switch u.doubt {
	case DoubtAdmin:
		return (spec.Is(command.Admin) || spec.Cats&command.CatAdmin != 0) && !spec.Looks
	case DoubtAll:
		return !spec.Has(command.DespiteDoubt)
	}
	return false
}
