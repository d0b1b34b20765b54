package client

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
)

var aclHandlers = group{
	"acl|cat": aclCat, "acl|deluser": aclDelUser, "acl|dryrun": aclDryRun, "acl|genpass": aclGenPass, "acl|getuser": aclGetUser,
	"acl|help": aclHelp, "acl|list": aclList, "acl|load": aclLoad, "acl|log": aclLog, "acl|save": aclSave, "acl|setuser": aclSetUser,
	"acl|users": aclUsers, "acl|whoami": func(c *Client, _ [][]byte) { c.out.BulkString(c.user.Name) },
}

// quotedBytesMax is how much of a category an error quotes, as Redis's do.
const quotedBytesMax = 128

func aclCat(c *Client, args [][]byte) {
	var names []string
	switch len(args) {
	case 2:
		names = command.AllCategories()
	case 3:
		category := fold(args[2])
		if !slices.Contains(command.AllCategories(), category) {
			c.out.Error("ERR Unknown category '" + string(args[2][:min(len(args[2]), quotedBytesMax)]) + "'")
			return
		}
		names = commandsIn(category)
	default:
		c.wrongSubcommand("ACL", args)
		return
	}
	c.strings(names)
}

// wrongSubcommand answers a subcommand with a number of arguments that its row
// could not tell wrong.
func (c *Client) wrongSubcommand(container string, args [][]byte) {
	c.out.Error(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try %s HELP.", args[1], container))
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

func (c *Client) strings(list []string) {
	c.out.Array(len(list))
	for _, s := range list {
		c.out.BulkString(s)
	}
}

// aclOptions are what new users begin with.
func (c *Client) aclOptions() users.Options {
	return users.Options{AllChannels: c.settings.PubSubAllChannels}
}

func aclSetUser(c *Client, args [][]byte) {
	name := string(args[2])
	if !users.ValidName(name) {
		c.out.Error("ERR Usernames can't contain spaces or null characters")
		return
	}
	rules := make([]string, len(args)-3)
	for i, a := range args[3:] {
		rules[i] = string(a)
	}
	err := c.changeUsers(func(all *users.Users) (users.Change, error) {
		r, err := all.WithRules(name, rules, c.aclOptions())
		return users.Change{Set: []users.Record{r}}, err
	})
	c.okOr(err)
}

func (c *Client) okOr(err error) {
	if err != nil {
		c.out.Error(err.Error())
		return
	}
	c.out.OK()
}

func aclDelUser(c *Client, args [][]byte) {
	deleted := 0
	err := c.changeUsers(func(all *users.Users) (users.Change, error) {
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
		c.out.Error(err.Error())
		return
	}
	c.out.Int(int64(deleted))
}

func aclGetUser(c *Client, args [][]byte) {
	a := c.users.Get(string(args[2]))
	if a == nil {
		c.out.Null()
		return
	}
	c.out.Map(6)
	c.out.BulkString("flags")
	flags := a.Flags()
	c.out.Set(len(flags))
	for _, f := range flags {
		c.out.BulkString(f)
	}
	c.out.BulkString("passwords")
	c.strings(a.Passwords())
	c.writeSelector(a.Selectors()[0])
	c.out.BulkString("selectors")
	others := a.Selectors()[1:]
	c.out.Array(len(others))
	for _, s := range others {
		c.out.Map(3)
		c.writeSelector(s)
	}
}

// writeSelector writes three fields.
func (c *Client) writeSelector(s *acl.Selector) {
	for _, field := range [][2]string{{"commands", s.Commands()}, {"keys", s.Keys()}, {"channels", s.Channels()}} {
		c.out.BulkString(field[0])
		c.out.BulkString(field[1])
	}
}

func aclList(c *Client, _ [][]byte) {
	all := c.users.All()
	c.out.Array(len(all))
	for _, a := range all {
		c.out.BulkString(a.Line())
	}
}

func aclUsers(c *Client, _ [][]byte) {
	all := c.users.All()
	c.out.Array(len(all))
	for _, a := range all {
		c.out.BulkString(a.Name)
	}
}

func aclDryRun(c *Client, args [][]byte) {
	a := c.users.Get(string(args[2]))
	if a == nil {
		c.out.Error("ERR User '" + string(args[2]) + "' not found")
		return
	}
	run := args[3:]
	spec, _ := commands.Lookup(run)
	switch {
	case spec == nil || spec.Internal():
		c.out.Error("ERR Command '" + string(args[3]) + "' not found")
		return
	case !spec.CheckArity(len(run)):
		c.out.Error(command.ErrArity(spec))
		return
	}
	switch d := a.Judge(spec, run); d.Reason {
	case command.Allowed:
		c.out.OK()
	case command.DeniedCommand:
		c.out.BulkString("This user has no permissions to run the '" + spec.Name + "' command")
	case command.DeniedKey:
		c.out.BulkString("This user has no permissions to access the '" + string(run[d.Arg]) + "' key")
	case command.DeniedChannel:
		c.out.BulkString("This user has no permissions to access the '" + string(run[d.Arg]) + "' channel")
	}
}

// Passwords of ACL GENPASS, in bits.
const (
	passwordBits    = 256
	passwordBitsMax = 4096
)

func aclGenPass(c *Client, args [][]byte) {
	bits := int64(passwordBits)
	switch len(args) {
	case 2:
	case 3:
		var ok bool
		if bits, ok = parseInt(args[2]); !ok {
			c.out.Error(command.ErrNotInteger)
			return
		}
		if bits <= 0 || bits > passwordBitsMax {
			c.out.Error("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096")
			return
		}
	default:
		c.wrongSubcommand("ACL", args)
		return
	}
	const digitBits = 4
	digits := (bits + digitBits - 1) / digitBits
	secret := make([]byte, passwordBitsMax/8)
	_, _ = rand.Read(secret) // never fails
	c.out.BulkString(hex.EncodeToString(secret)[:digits])
}

const errNoACLFile = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."

func aclLoad(c *Client, _ [][]byte) {
	path := c.settings.ACLFile
	if path == "" {
		c.out.Error(errNoACLFile)
		return
	}
	records, err := users.ReadFile(path, c.aclOptions())
	if err != nil {
		c.out.Error("ERR " + err.Error() + "; the users are as they were")
		return
	}
	err = c.changeUsers(func(all *users.Users) (users.Change, error) {
		change := users.Change{Set: records}
		for _, a := range all.All() {
			named := func(r users.Record) bool { return r.Name == a.Name }
			if a.Name != users.Default && !slices.ContainsFunc(records, named) {
				change.Delete = append(change.Delete, a.Name)
			}
		}
		if !slices.ContainsFunc(records, func(r users.Record) bool { return r.Name == users.Default }) {
			change.Set = append(slices.Clone(records), users.Record{Name: users.Default, Rules: users.DefaultRules(c.settings.RequirePass)})
		}
		return change, nil
	})
	c.okOr(err)
}

func aclSave(c *Client, _ [][]byte) {
	path := c.settings.ACLFile
	if path == "" {
		c.out.Error(errNoACLFile)
		return
	}
	if err := c.users.WriteFile(path); err != nil {
		c.out.Error("ERR There was an error trying to save the ACLs. Please check the server logs for more information: " + err.Error())
		return
	}
	c.out.OK()
}

// logEntries is how many entries ACL LOG shows unasked.
const logEntries = 10

func aclLog(c *Client, args [][]byte) {
	n := int64(logEntries)
	switch {
	case len(args) > 3:
		c.wrongSubcommand("ACL", args)
		return
	case len(args) == 3 && fold(args[2]) == "reset":
		c.stats.ACLLog.Reset()
		c.out.OK()
		return
	case len(args) == 3:
		var ok bool
		if n, ok = parseInt(args[2]); !ok {
			c.out.Error(command.ErrNotInteger)
			return
		}
	}
	entries := c.stats.ACLLog.Newest(int(min(max(n, 0), 1<<30)))
	now := time.Now()
	c.out.Array(len(entries))
	for _, e := range entries {
		c.out.Map(10)
		c.out.BulkString("count")
		c.out.Int(int64(e.Count))
		for _, field := range [][2]string{{"reason", e.Reason}, {"context", e.Context}, {"object", e.Object}, {"username", e.User}} {
			c.out.BulkString(field[0])
			c.out.BulkString(field[1])
		}
		c.out.BulkString("age-seconds")
		c.out.Double(float64(now.Sub(e.At).Milliseconds()) / 1000)
		c.out.BulkString("client-info")
		c.out.BulkString(e.Client)
		c.out.BulkString("entry-id")
		c.out.Int(e.ID)
		c.out.BulkString("timestamp-created")
		c.out.Int(e.Since.UnixMilli())
		c.out.BulkString("timestamp-last-updated")
		c.out.Int(e.At.UnixMilli())
	}
}

func aclHelp(c *Client, _ [][]byte) {
	c.help("ACL <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
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
