package client

import (
	"time"

	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/proto/acl"
	"lockstep/proto/pubsub"
)

// Access is behind AUTH and ACL.
type Access interface {
	// Users are those of the moment.
	Users() *acl.Users
	// ChangeUsers changes the users of the cluster, all of the change or none. work
	// is called with the users of the moment, again if somebody came between. When
	// ChangeUsers returns, Users has the change. The error's text is the reply.
	ChangeUsers(work func(*acl.Users) (acl.Change, error)) error
}

const (
	errNoAuth = "NOAUTH Authentication required."
	// reasonAuth is what ACL LOG calls a failed login.
	reasonAuth = "auth"
)

// errDenied are Redis's texts; the first takes the command's name.
var errDenied = [...]string{
	command.DeniedKey:     "NOPERM this user has no permissions to access one of the keys used as arguments",
	command.DeniedChannel: "NOPERM this user has no permissions to access one of the channels used as arguments",
}

// errDeniedAtExec are the reasons for which a command that was queued is not run.
var errDeniedAtExec = [...]string{
	command.DeniedCommand: "no permission to execute the command or subcommand",
	command.DeniedKey:     "no permission to touch the specified keys",
	command.DeniedChannel: "no permission to access one of the channels used as arguments",
}

// logIn is AUTH; false: the password is wrong.
func (c *Client) logIn(verb []byte, name, password string) bool {
	user := c.users.LogIn(name, password)
	if user == nil {
		c.logRefusal(reasonAuth, string(verb), name)
		return false
	}
	c.become(user, true)
	return true
}

// denial is why the user may not run a command, "" if it may.
func (c *Client) denial(spec *command.Spec, args [][]byte) string {
	if c.user.MayAll() {
		return ""
	}
	d := c.user.Judge(spec, args)
	switch d.Reason {
	case command.Allowed:
		return ""
	case command.DeniedCommand:
		c.logRefusal("command", spec.Name, c.user.Name)
		return "NOPERM this user has no permissions to run the '" + spec.Name + "' command"
	}
	c.logDenial(c.user, d, args)
	return errDenied[d.Reason]
}

func (c *Client) logDenial(user *acl.Account, d command.Denial, args [][]byte) {
	reason := "key"
	if d.Reason == command.DeniedChannel {
		reason = "channel"
	}
	c.logRefusal(reason, string(args[d.Arg]), user.Name)
}

// denialAtExec is denial for a command that was queued, and is run as a user.
func (c *Client) denialAtExec(user *acl.Account, q *queued) string {
	if text := c.refusedInDoubt(q.spec); text != "" {
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
		c.logRefusal("command", q.spec.Name, user.Name)
	default:
		c.logDenial(user, d, q.args)
	}
	return "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + errDeniedAtExec[d.Reason]
}

// logRefusal puts a refusal into the node's ACL LOG.
func (c *Client) logRefusal(reason, object, user string) {
	now := time.Now()
	context := "toplevel"
	if c.tx.open || c.tx.runs {
		context = "multi"
	}
	c.note(now)
	c.stats.ACLLog.Add(acl.Entry{Reason: reason, Context: context, Object: object, User: user, Client: c.shared.Line(now), At: now}, c.settings.ACLLogLen)
}

// carry puts the rules of the user that a command is run as into a txn, if it must
// know them, and who is to be told what a script does.
func (c *Client) carry(t *fsm.Txn, user *acl.Account, spec *command.Spec) {
	if spec.NeedsUser() {
		t.User = user.Carried
	}
	if spec.RunsProgram() {
		t.Caller = c.caller(user)
	}
}

// caller is this client as who its scripts run for, if there may be something to
// tell: a command that its user may not run, or one that those who monitor are to see.
func (c *Client) caller(user *acl.Account) command.Caller {
	watched := c.registry.monitors.watched()
	if user.Carried == nil && !watched || c.backend.Incarnation == 0 {
		return command.Caller{}
	}
	// ACL LOG shows the client as it is now.
	c.note(time.Now())
	return command.Caller{Node: c.backend.Incarnation, Client: c.shared.id, Watched: watched}
}

// Rejudge cuts off the clients whose user is gone or in doubt, and those that listen to
// what their user may not hear any more. A client that waits for something that its user
// may not do any more waits no longer.
func (r *Registry) Rejudge(now *acl.Users) {
	for _, c := range r.Connections() {
		if c.rejudge(now) {
			c.dismiss()
		}
	}
}

// allowed tells whether a user may hear all of the subscriptions.
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
