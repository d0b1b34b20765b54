package acl

import "lockstep/engine/command"

// Doubt is how far a node goes by users of which it has not heard for long whether they
// still hold.
type Doubt uint8

const (
	// NoDoubt: the cluster has confirmed the users lately.
	NoDoubt Doubt = iota
	// DoubtAdmin: commands of @admin are refused, questions about the cluster aside.
	DoubtAdmin
	// DoubtAll: everything is refused, logging in too.
	DoubtAll
)

// InDoubt returns the same users in another doubt.
func (u *Users) InDoubt(d Doubt) *Users {
	next := *u
	next.doubt = d
	return &next
}

// Doubt is the doubt that these users are in.
func (u *Users) Doubt() Doubt { return u.doubt }

// Doubts reports whether a command is refused to every user: it must wait until the node
// knows again that its users still hold.
func (u *Users) Doubts(spec *command.Spec) bool {
	switch u.doubt {
	case DoubtAdmin:
		return (spec.Is(command.Admin) || spec.Cats&command.CatAdmin != 0) && !spec.Looks
	case DoubtAll:
		return !spec.Has(command.DespiteDoubt)
	}
	return false
}
