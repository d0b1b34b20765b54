package admin

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"lockstep/engine/acl"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	users "lockstep/proto/acl"
	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// userCommands are the subcommands of ACL.
type userCommands struct{ stats *stats.Stats }

func (h *userCommands) handlers() client.Handlers {
	return client.Handlers{
		"acl|cat": aclCat, "acl|deluser": aclDelUser, "acl|dryrun": aclDryRun, "acl|genpass": aclGenPass,
		"acl|getuser": aclGetUser, "acl|help": aclHelp, "acl|list": aclList, "acl|load": aclLoad, "acl|log": h.log,
		"acl|save": aclSave, "acl|setuser": aclSetUser, "acl|users": aclUsers,
		"acl|whoami": func(r *client.Request, _ [][]byte) { r.Out.BulkString(r.User().Name) },
	}
}

// quotedBytesMax is how much of a category an error quotes, as in Redis.
const quotedBytesMax = 128

func aclCat(r *client.Request, args [][]byte) {
	var names []string
	switch len(args) {
	case 2:
		names = command.AllCategories()
	case 3:
		category := fold(args[2])
		if !slices.Contains(command.AllCategories(), category) {
			r.Out.Error("ERR Unknown category '" + string(args[2][:min(len(args[2]), quotedBytesMax)]) + "'")
			return
		}
		names = commandsIn(category)
	default:
		wrongSubcommand(r, "ACL", args)
		return
	}
	list(r, names)
}

func commandsIn(category string) []string {
	var names []string
	note := func(s *command.Spec) {
		if !s.Internal() && slices.Contains(s.Categories(), category) {
			names = append(names, s.Name)
		}
	}
	for _, s := range commands.All() {
		if len(s.Sub) == 0 {
			note(s)
		}
		for _, sub := range s.Sub {
			note(sub)
		}
	}
	return names
}

// aclOptions are the options for new users.
func aclOptions(r *client.Request) users.Options {
	return users.Options{AllChannels: r.Settings().PubSubAllChannels}
}

func aclSetUser(r *client.Request, args [][]byte) {
	name := string(args[2])
	if !users.ValidName(name) {
		r.Out.Error("ERR Usernames can't contain spaces or null characters")
		return
	}
	rules := make([]string, len(args)-3)
	for i, a := range args[3:] {
		rules[i] = string(a)
	}
	err := r.ChangeUsers(func(all *users.Users) (users.Change, error) {
		r, err := all.WithRules(name, rules, aclOptions(r))
		return users.Change{Set: []users.Record{r}}, err
	})
	okOr(r, err)
}

func aclDelUser(r *client.Request, args [][]byte) {
	deleted := 0
	err := r.ChangeUsers(func(all *users.Users) (users.Change, error) {
		var change users.Change
		for _, a := range args[2:] {
			name := string(a)
			switch {
			case name == users.Default:
				return change, fmt.Errorf("ERR The 'default' user cannot be removed")
			case all.Get(name) != nil && !slices.Contains(change.Delete, name):
				change.Delete = append(change.Delete, name)
			}
		}
		deleted = len(change.Delete)
		return change, nil
	})
	if err != nil {
		r.Out.Error(err.Error())
		return
	}
	r.Out.Int(int64(deleted))
}

func aclGetUser(r *client.Request, args [][]byte) {
	a := r.Users().Get(string(args[2]))
	if a == nil {
		r.Out.Null()
		return
	}
	r.Out.Map(6)
	r.Out.BulkString("flags")
	flags := a.Flags()
	r.Out.Set(len(flags))
	for _, f := range flags {
		r.Out.BulkString(f)
	}
	r.Out.BulkString("passwords")
	list(r, a.Passwords())
	writeSelector(r, a.Selectors()[0])
	r.Out.BulkString("selectors")
	others := a.Selectors()[1:]
	r.Out.Array(len(others))
	for _, s := range others {
		r.Out.Map(3)
		writeSelector(r, s)
	}
}

// writeSelector writes the three fields of a selector.
func writeSelector(r *client.Request, s *acl.Selector) {
	for _, field := range [][2]string{{"commands", s.Commands()}, {"keys", s.Keys()}, {"channels", s.Channels()}} {
		r.Out.BulkString(field[0])
		r.Out.BulkString(field[1])
	}
}

func aclList(r *client.Request, _ [][]byte) {
	all := r.Users().All()
	r.Out.Array(len(all))
	for _, a := range all {
		r.Out.BulkString(a.Line())
	}
}

func aclUsers(r *client.Request, _ [][]byte) {
	all := r.Users().All()
	r.Out.Array(len(all))
	for _, a := range all {
		r.Out.BulkString(a.Name)
	}
}

func aclDryRun(r *client.Request, args [][]byte) {
	a := r.Users().Get(string(args[2]))
	if a == nil {
		r.Out.Error("ERR User '" + string(args[2]) + "' not found")
		return
	}
	run := args[3:]
	spec, _ := commands.Lookup(run)
	switch {
	case spec == nil || spec.Internal():
		r.Out.Error("ERR Command '" + string(args[3]) + "' not found")
		return
	case !spec.CheckArity(len(run)):
		r.Out.Error(command.ErrArity(spec))
		return
	}
	switch d := a.Judge(spec, run); d.Reason {
	case command.Allowed:
		r.Out.OK()
	case command.DeniedCommand:
		r.Out.BulkString("This user has no permissions to run the '" + spec.Name + "' command")
	case command.DeniedKey:
		r.Out.BulkString("This user has no permissions to access the '" + string(run[d.Arg]) + "' key")
	case command.DeniedChannel:
		r.Out.BulkString("This user has no permissions to access the '" + string(run[d.Arg]) + "' channel")
	}
}

// Lengths of ACL GENPASS passwords, in bits.
const (
	passwordBits    = 256
	passwordBitsMax = 4096
)

func aclGenPass(r *client.Request, args [][]byte) {
	bits := int64(passwordBits)
	switch len(args) {
	case 2:
	case 3:
		var ok bool
		if bits, ok = parseInt(args[2]); !ok {
			r.Out.Error(command.ErrNotInteger)
			return
		}
		if bits <= 0 || bits > passwordBitsMax {
			r.Out.Error("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096")
			return
		}
	default:
		wrongSubcommand(r, "ACL", args)
		return
	}
	const digitBits = 4
	digits := (bits + digitBits - 1) / digitBits
	secret := make([]byte, passwordBitsMax/8)
	_, _ = rand.Read(secret) // never fails
	r.Out.BulkString(hex.EncodeToString(secret)[:digits])
}

const errNoACLFile = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."

func aclLoad(r *client.Request, _ [][]byte) {
	path := r.Settings().ACLFile
	if path == "" {
		r.Out.Error(errNoACLFile)
		return
	}
	records, err := users.ReadFile(path, aclOptions(r))
	if err != nil {
		r.Out.Error("ERR " + err.Error() + "; the users are as they were")
		return
	}
	err = r.ChangeUsers(func(all *users.Users) (users.Change, error) {
		change := users.Change{Set: records}
		for _, a := range all.All() {
			named := func(r users.Record) bool { return r.Name == a.Name }
			if a.Name != users.Default && !slices.ContainsFunc(records, named) {
				change.Delete = append(change.Delete, a.Name)
			}
		}
		if !slices.ContainsFunc(records, func(r users.Record) bool { return r.Name == users.Default }) {
			change.Set = append(slices.Clone(records), users.Record{Name: users.Default, Rules: users.DefaultRules(r.Settings().RequirePass)})
		}
		return change, nil
	})
	okOr(r, err)
}

func aclSave(r *client.Request, _ [][]byte) {
	path := r.Settings().ACLFile
	if path == "" {
		r.Out.Error(errNoACLFile)
		return
	}
	if err := r.Users().WriteFile(path); err != nil {
		r.Out.Error("ERR There was an error trying to save the ACLs. Please check the server logs for more information: " + err.Error())
		return
	}
	r.Out.OK()
}

// logEntries is how many entries ACL LOG shows by default.
const logEntries = 10

func (h *userCommands) log(r *client.Request, args [][]byte) {
	n := int64(logEntries)
	switch {
	case len(args) > 3:
		wrongSubcommand(r, "ACL", args)
		return
	case len(args) == 3 && fold(args[2]) == "reset":
		h.stats.ACLLog.Reset()
		r.Out.OK()
		return
	case len(args) == 3:
		var ok bool
		if n, ok = parseInt(args[2]); !ok {
			r.Out.Error(command.ErrNotInteger)
			return
		}
	}
	entries := h.stats.ACLLog.Newest(int(min(max(n, 0), 1<<30)))
	now := time.Now()
	r.Out.Array(len(entries))
	for _, e := range entries {
		r.Out.Map(10)
		r.Out.BulkString("count")
		r.Out.Int(int64(e.Count))
		for _, field := range [][2]string{{"reason", e.Reason}, {"context", e.Context}, {"object", e.Object}, {"username", e.User}} {
			r.Out.BulkString(field[0])
			r.Out.BulkString(field[1])
		}
		r.Out.BulkString("age-seconds")
		r.Out.Double(float64(now.Sub(e.At).Milliseconds()) / 1000)
		r.Out.BulkString("client-info")
		r.Out.BulkString(e.Client)
		r.Out.BulkString("entry-id")
		r.Out.Int(e.ID)
		r.Out.BulkString("timestamp-created")
		r.Out.Int(e.Since.UnixMilli())
		r.Out.BulkString("timestamp-last-updated")
		r.Out.Int(e.At.UnixMilli())
	}
}

func aclHelp(r *client.Request, _ [][]byte) {
	help(r, "ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CAT [<category>]", "    The categories of commands, or the commands of one.",
		"DELUSER <username> [<username> ...]", "    Delete users, and cut their connections off.",
		"DRYRUN <username> <command> [<arg> ...]", "    Tell whether a user may run a command, and do not run it.",
		"GETUSER <username>", "    The rules of a user.",
		"GENPASS [<bits>]", "    Make up a password, of 256 bits unless told otherwise.",
		"LIST", "    The users with their rules, as in a file.",
		"LOAD", "    Put the users of this node's ACL file in the place of the cluster's.",
		"LOG [<count> | RESET]", "    What this node refused of late.",
		"SAVE", "    Write the cluster's users into this node's ACL file.",
		"SETUSER <username> <attribute> [<attribute> ...]", "    Make a user, or change its rules, on all nodes.",
		"USERS", "    The names of the users.",
		"WHOAMI", "    The name of this connection's user.")
}
