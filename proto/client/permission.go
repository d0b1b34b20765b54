package client

import (
	"time"

	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/proto/acl"
	"lockstep/proto/pubsub"
)

// Access serves AUTH and ACL.
type Access interface {
	// Users are the current users.
	Users() *acl.Users
	// ChangeUsers changes the users of the cluster, all of the change or none. work
	// is called with the current users, and again if another change came in
	// between. When ChangeUsers returns, Users has the change. The error's text is
	// the reply.
	ChangeUsers(work func(*acl.Users) (acl.Change, error)) error
}

const (
	errNoAuth = "NOAUTH Authentication required."
	// reasonAuth is the reason of a failed login in ACL LOG.
	reasonAuth = "auth"
)

// errDenied are Redis's texts; the first takes the command's name.
var errDenied = [...]string{
	command.DeniedKey:     "NOPERM this user has no permissions to access one of the keys used as arguments",
	command.DeniedChannel: "NOPERM this user has no permissions to access one of the channels used as arguments",
}

// errDeniedAtExec are the replies for queued commands that the user may no longer
// run.
var errDeniedAtExec = [...]string{
	command.DeniedCommand: "no permission to execute the command or subcommand",
	command.DeniedKey:     "no permission to touch the specified keys",
	command.DeniedChannel: "no permission to access one of the channels used as arguments",
}

// logIn is AUTH. It returns false if the password is wrong.
func (l *login) logIn(verb []byte, name, password string) bool {
	user := l.users.LogIn(name, password)
	if user == nil {
		l.logRefusal(reasonAuth, string(verb), name)
		return false
	}
	l.become(user, true)
	return true
}

// denial says why the user may not run a command, or "" if it may.
func (l *login) denial(spec *command.Spec, args [][]byte) string {
	if l.user.MayAll() {
		return ""
	}
	d := l.user.Judge(spec, args)
	switch d.Reason {
	case command.Allowed:
		return ""
	case command.DeniedCommand:
		l.logRefusal("command", spec.Name, l.user.Name)
		return "NOPERM this user has no permissions to run the '" + spec.Name + "' command"
	}
	l.logDenial(l.user, d, args)
	return errDenied[d.Reason]
}

func (l *login) logDenial(user *acl.Account, d command.Denial, args [][]byte) {
	reason := "key"
	if d.Reason == command.DeniedChannel {
		reason = "channel"
	}
	l.logRefusal(reason, string(args[d.Arg]), user.Name)
}

// denialAtExec is denial for a queued command that is run as user.
func (l *login) denialAtExec(user *acl.Account, q *queued) string {
	if text := l.refusedInDoubt(q.spec); text != "" {
		return text
	}
	if user.MayAll() {
		return ""
	}
	d := user.Judge(q.spec, q.args)
	switch d.Reason {
	case command.Allowed:
		return ""
	case command.DeniedCommand:
		l.logRefusal("command", q.spec.Name, user.Name)
	default:
		l.logDenial(user, d, q.args)
	}
	return "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + errDeniedAtExec[d.Reason]
}

// logRefusal puts a refusal into the node's ACL LOG.
func (l *login) logRefusal(reason, object, user string) {
	now := time.Now()
	context := "toplevel"
	if l.tx.open || l.tx.runs {
		context = "multi"
	}
	l.note(now)
	l.env.stats.ACLLog.Add(acl.Entry{Reason: reason, Context: context, Object: object, User: user, Client: l.env.shared.Line(now), At: now}, l.env.settings.ACLLogLen)
}

// carry puts the rules of the user who runs a command into a txn, if the command
// needs them, and the client to which the script's actions are reported.
func (l *login) carry(t *fsm.Txn, user *acl.Account, spec *command.Spec) {
	if spec.NeedsUser() {
		t.User = user.Carried
	}
	if spec.RunsProgram() {
		t.Caller = l.caller(user)
	}
}

// caller is this client as the caller of its scripts, if there may be something to report: a
// command that its user may not run, or a command for monitoring clients.
func (l *login) caller(user *acl.Account) command.Caller {
	watched := l.env.registry.monitors.watched()
	if user.Carried == nil && !watched || l.env.backend.Incarnation == 0 {
		return command.Caller{}
	}
	// ACL LOG shows the client as it is now.
	l.note(time.Now())
	return command.Caller{Node: l.env.backend.Incarnation, Client: l.env.shared.id, Watched: watched}
}

// Rejudge cuts off the clients whose user is gone or in doubt, and those with subscriptions that
// their user may no longer have. It ends the wait of a blocked client whose user may no longer run
// the command.
func (r *Registry) Rejudge(now *acl.Users) {
	for _, c := range r.Connections() {
		if c.rejudge(now) {
			c.dismiss()
		}
	}
}

// allowed reports whether a user may have all of the subscriptions.
func (s *subscriptions) allowed(user *acl.Account) bool {
	for kind, names := range s {
		for name := range names {
			if !user.Hears(name, pubsub.Kind(kind) == pubsub.Pattern) {
				return false
			}
		}
	}
	return true
}
