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
func (c *Client) logIn(verb []byte, name, password string) bool {
	user := c.users.LogIn(name, password)
	if user == nil {
		c.logRefusal(reasonAuth, string(verb), name)
		return false
	}
	c.become(user, true)
	return true
}

// denial says why the user may not run a command, or "" if it may.
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

// denialAtExec is denial for a queued command that is run as user.
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

// carry puts the rules of the user who runs a command into a txn, if the command
// needs them, and the client to which the script's actions are reported.
func (c *Client) carry(t *fsm.Txn, user *acl.Account, spec *command.Spec) {
	if spec.NeedsUser() {
		t.User = user.Carried
	}
	if spec.RunsProgram() {
		t.Caller = c.caller(user)
	}
}

// caller is this client as the caller of its scripts, if there may be something to report: a
// command that its user may not run, or a command for monitoring clients.
func (c *Client) caller(user *acl.Account) command.Caller {
	watched := c.registry.monitors.watched()
	if user.Carried == nil && !watched || c.backend.Incarnation == 0 {
		return command.Caller{}
	}
	// ACL LOG shows the client as it is now.
	c.note(time.Now())
	return command.Caller{Node: c.backend.Incarnation, Client: c.shared.id, Watched: watched}
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
