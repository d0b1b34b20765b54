package client

import (
	"time"

	"lockstep/engine/command"
	"lockstep/proto/acl"
)

// login is the user of a client, and decides what the user may do.
type login struct {
	env *environment
	// tx is the client's transaction: ACL LOG says whether a refusal came in one.
	tx *transaction
	// note updates what CLIENT LIST and ACL LOG show of the client.
	note func(now time.Time)
	// users are the current users, and user is the client's own. authed means that it has logged in, or did not have
	// to.
	users  *acl.Users
	user   *acl.Account
	authed bool
}

const errNoPassword = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"

// errDoubted are the errors for commands that are refused to every user
// (acl.Doubt).
var errDoubted = [...]string{
	acl.DoubtAdmin: "CLUSTERDOWN this node has not heard for too long whether the cluster's users still hold (acl-stale-admin-ms); until it does, it runs no command of @admin; the command was not executed",
	acl.DoubtAll:   "CLUSTERDOWN this node has not heard for too long whether the cluster's users still hold (acl-stale-ms); until it does, it serves nobody; the command was not executed",
}

// refusedInDoubt says why a command is refused to every user, or "" if it is not.
func (l *login) refusedInDoubt(spec *command.Spec) string {
	if !l.users.Doubts(spec) {
		return ""
	}
	return errDoubted[l.users.Doubt()]
}

// become makes the client this user, logged in or not.
func (l *login) become(user *acl.Account, authed bool) {
	l.goOnAs(user, authed)
	l.env.shared.mu.Lock()
	l.env.shared.judged = user
	l.env.shared.mu.Unlock()
}

func (l *login) goOnAs(user *acl.Account, authed bool) {
	l.user, l.authed = user, authed
	l.env.conn.SetAuthenticated(authed || l.users.Open())
	l.env.shared.mu.Lock()
	l.env.shared.user = user
	l.env.shared.mu.Unlock()
}

// becomeDefault makes the client the user of a fresh connection.
func (l *login) becomeDefault() { l.become(l.users.Default(), l.users.Open()) }

// renew updates the users to the current ones. It returns false if the client's own is gone.
func (l *login) renew() bool {
	now := l.env.backend.Users()
	if now == l.users {
		return true
	}
	l.users = now
	user := now.Successor(l.user)
	if user == nil {
		return false
	}
	l.goOnAs(user, l.authed)
	return true
}

// mustLogIn reports whether the client has to log in first.
func (l *login) mustLogIn() bool { return !l.authed && !l.users.Open() }

// credentials are the arguments of AUTH.
func (l *login) credentials(args [][]byte) (user, pass, refusal string) {
	switch len(args) {
	case 2:
		if l.users.Default().NoPass() {
			return "", "", errNoPassword
		}
		return acl.Default, string(args[1]), ""
	case 3:
		return string(args[1]), string(args[2]), ""
	}
	return "", "", command.ErrSyntax
}

// userBehind is the client's user after a command of a transaction, given the user before it.
func (l *login) userBehind(user *acl.Account, q *queued) *acl.Account {
	name, pass, refusal := "", "", ""
	switch {
	case q.spec.Has(command.LogsIn):
		name, pass, refusal = l.credentials(q.args)
	case q.spec.Has(command.Greets):
		var h helloArgs
		refusal = h.parse(q.args)
		name, pass = h.user, h.pass
		if !h.auth {
			return user
		}
	default:
		return user
	}
	if next := l.users.LogIn(name, pass); refusal == "" && next != nil {
		return next
	}
	return user
}
