package commands_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/golden"
)

// docs/commands.md is generated from the table by `make docs`.
func TestDocumentationIsTheTable(t *testing.T) {
	golden.Check(t, "../../docs/commands.md", documentation())
}

// The table accounts for every command of Redis: each exists, or there is a reason why not. A
// reason is given only for a command that exists in Redis.
func TestEveryCommandOfRedisIsAccountedFor(t *testing.T) {
	known := map[string]bool{}
	for _, c := range commands.RedisCommands() {
		if known[c.Name] {
			t.Errorf("%s is listed twice", c.Name)
		}
		known[c.Name] = true
		if how, why := commands.SupportOf(c.Name); how == commands.None && why == "" {
			t.Errorf("%s is not there, and nothing says why", c.Name)
		}
	}
	for name := range commands.Missing {
		if !known[name] {
			t.Errorf("it is said why %s is missing, which Redis does not have", name)
		}
	}
	for name := range commands.Partly {
		if commands.Get(name) == nil {
			t.Errorf("it is said what is missing of %s, which is not there", name)
		}
	}
	for _, s := range beyond() {
		if s.InRedis("7.2") {
			t.Errorf("%s, since %s, is not in the list of Redis's commands", s.Name, s.Since)
		}
	}
}

// beyond are the commands that Redis 7.2 does not have.
func beyond() []*command.Spec {
	known := map[string]bool{}
	for _, c := range commands.RedisCommands() {
		known[c.Name] = true
	}
	var list []*command.Spec
	for _, spec := range commands.All() {
		if spec.Internal() {
			continue
		}
		for _, s := range append([]*command.Spec{spec}, spec.Sub...) {
			if !known[s.Name] {
				list = append(list, s)
			}
		}
	}
	return list
}

const docsHead = `# Commands

<!-- Generated from the table in engine/commands by make docs. Do not edit. -->

Every command of Redis 7.2, and how much of it Lockstep has:

- *full*: the command answers as in Redis, with all options.
- *partial*: the table says what is missing.
- *no*: the table says why.

[compatibility.md](compatibility.md) has the differences of whole kinds of commands, and details of single ones.
LOCKSTEP COMMANDS prints this list on a running node. Lockstep has none of the commands of Sentinel and of the modules
of Redis Stack; they are not in this list.

`

// documentation renders the table.
func documentation() string {
	var b strings.Builder
	b.WriteString(docsHead)
	var counts [commands.None + 1]int
	for _, c := range commands.RedisCommands() {
		how, _ := commands.SupportOf(c.Name)
		counts[how]++
	}
	fmt.Fprintf(&b, "%d commands and subcommands: %d full, %d partial, %d no.\n", len(commands.RedisCommands()), counts[commands.Full], counts[commands.Partial], counts[commands.None])
	group := ""
	for _, c := range commands.RedisCommands() {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n## %s\n\n| command | here | what it does, or why not |\n|---|---|---|\n", groupTitle(group))
		}
		how, why := commands.SupportOf(c.Name)
		text := why
		if how != commands.None {
			text = sentence(commands.Get(c.Name).Summary, why)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", title(c.Name), how, text)
	}
	b.WriteString("\n## Beyond Redis 7.2\n\n| command | since | what it does |\n|---|---|---|\n")
	for _, s := range beyond() {
		fmt.Fprintf(&b, "| %s | %s %s | %s |\n", title(s.Name), cmp.Or(s.Origin, "Redis"), s.Since, s.Summary)
	}
	return b.String()
}

func sentence(summary, why string) string {
	if why == "" {
		return summary
	}
	return summary + " Here " + why + "."
}

func title(name string) string {
	return "`" + strings.ToUpper(strings.Replace(name, "|", " ", 1)) + "`"
}

func groupTitle(group string) string {
	return map[string]string{
		"string": "Strings", "list": "Lists", "set": "Sets", "hash": "Hashes", "sorted-set": "Sorted sets", "stream": "Streams", "bitmap": "Bitmaps",
		"hyperloglog": "HyperLogLog", "geo": "Geo indexes", "generic": "Keys", "transactions": "Transactions", "pubsub": "Messages",
		"scripting": "Scripts and functions", "connection": "Connections", "server": "The server", "cluster": "The cluster",
	}[group]
}
