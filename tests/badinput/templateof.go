package badinput

import (
	"cmp"
	"slices"
	"strings"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands"
)

// keysOfGroups are the keys of sweepState for the commands of a group.
var keysOfGroups = map[string]string{
	"list": "$list", "set": "$set", "hash": "$hash", "sorted-set": "$zset", "stream": "$stream", "geo": "$geo", "hyperloglog": "$hll",
}

// allTemplates returns the templates above, and one more for each command that has no template, is
// not excluded, and does not exist in redis-server. That one is made from the arguments in the
// documentation of the command's row.
func allTemplates(table map[string]commandRow) []string {
	known := map[string]bool{}
	for _, template := range templates {
		known[commandName(table, strings.Fields(template))] = true
	}
	all := slices.Clone(templates)
	for _, name := range sortedKeys(table) {
		spec := commands.Get(name)
		if spec == nil || len(spec.Sub) > 0 || known[name] || notSwept[name] != "" || strings.HasSuffix(name, "|help") || spec.InRedis(oracleVersion) {
			continue
		}
		all = append(all, templateOf(spec))
	}
	return all
}

// oracleVersion is the version of the redis-server that the tests compare with.
const oracleVersion = "7.0"

// templateOf returns the shortest call that a command's documented arguments allow.
func templateOf(spec *command.Spec) string {
	words := strings.Split(strings.ToUpper(spec.Name), "|")
	return strings.Join(appendWords(words, spec, spec.Args), " ")
}

func appendWords(words []string, spec *command.Spec, args []arg.Arg) []string {
	for _, a := range args {
		if a.Optional {
			continue
		}
		if a.Token != "" {
			words = append(words, a.Token)
		}
		switch a.Type {
		case "pure-token":
		case "oneof":
			words = appendWords(words, spec, a.Sub[:1])
		case "block":
			words = appendWords(words, spec, a.Sub)
		case "key":
			words = append(words, cmp.Or(keysOfGroups[spec.Group], "$string"))
		case "integer", "double", "unix-time":
			words = append(words, "1")
		default:
			words = append(words, "10")
		}
	}
	return words
}
