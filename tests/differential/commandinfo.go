package differential

import (
	"fmt"
	"slices"

	"lockstep/engine/commands"
	"lockstep/tests/kit/respconn"
)

// CommandDifference is a row of COMMAND that differs from Redis 7.0's, with the reason.
// docs/compatibility.md quotes the table.
type CommandDifference struct {
	// Command is the name as in COMMAND LIST.
	Command string
	// Field is the field that differs: "flags", "tips" and so on.
	Field, Reason string
}

// oracleVersion is the version of the redis-server that the tests compare with. The rows say which
// commands it does not have (command.Spec.InRedis).
const oracleVersion = "7.0"

// CommandDifferences are all differences in commands that both servers have.
var CommandDifferences = []CommandDifference{
	{"keys", "tips", "any node answers for all shards: a client that asked each would count double"},
	{"scan", "tips", "any node answers for all shards: a client that asked each would count double"},
	{"randomkey", "tips", "any node answers for all shards: a client that asked each would count double"},
	{"dbsize", "tips", "any node answers for all shards: a client that asked each would count double"},
	{"flushdb", "tips", "any node answers for all shards: a client that asked each would count double"},
	{"flushall", "tips", "any node answers for all shards: a client that asked each would count double"},
	{"zrank", "arity", "WITHSCORE is Redis 7.2's"},
	{"zrevrank", "arity", "WITHSCORE is Redis 7.2's"},
}

// differenceReason is the reason for a difference, or "" if it has none.
func differenceReason(name, field string) string {
	for _, d := range CommandDifferences {
		if d.Command == name && d.Field == field {
			return d.Reason
		}
	}
	return ""
}

// commandRow is a row of COMMAND, with each field rendered. Lists whose order means nothing are
// sorted.
type commandRow struct {
	name   string
	fields map[string]string
}

// rowFields are the places of the fields in a row of COMMAND.
var rowFields = []string{"name", "arity", "flags", "first key", "last key", "step", "categories", "tips", "key specs", "subcommands"}

// commandRows asks for the whole table, subcommands included.
func commandRows(c *respconn.Conn) (map[string]commandRow, error) {
	v, err := c.Do("COMMAND")
	if err != nil {
		return nil, err
	}
	if v.IsError() {
		return nil, fmt.Errorf("COMMAND: %s", v)
	}
	rows := map[string]commandRow{}
	return rows, addRows(rows, v.Elems)
}

func addRows(rows map[string]commandRow, all []respconn.Value) error {
	for _, v := range all {
		if len(v.Elems) != len(rowFields) {
			return fmt.Errorf("a row of COMMAND has %d fields: %s", len(v.Elems), v)
		}
		row := commandRow{string(v.Elems[0].Bytes), map[string]string{}}
		for i, e := range v.Elems {
			switch rowFields[i] {
			case "flags", "categories", "tips":
				row.fields[rowFields[i]] = canonicalSet(e)
			case "key specs":
				row.fields[rowFields[i]] = withoutNotes(e).String()
			case "subcommands":
				if err := addRows(rows, e.Elems); err != nil {
					return err
				}
			default:
				row.fields[rowFields[i]] = e.String()
			}
		}
		rows[row.name] = row
	}
	return nil
}

// withoutNotes removes the notes, which are prose, from a command's key specs.
func withoutNotes(specs respconn.Value) respconn.Value {
	for i, spec := range specs.Elems {
		var kept []respconn.Value
		for at := 0; at+1 < len(spec.Elems); at += 2 {
			if string(spec.Elems[at].Bytes) != "notes" {
				kept = append(kept, spec.Elems[at], spec.Elems[at+1])
			}
		}
		specs.Elems[i].Elems = kept
	}
	return specs
}

// compareRows returns the differences without a reason, and the reasons that are not needed.
func compareRows(ours, redis map[string]commandRow) (differences, unneeded []string) {
	used := map[string]bool{}
	note := func(name, field, text string) {
		if reason := differenceReason(name, field); reason != "" {
			used[reason] = true
			return
		}
		differences = append(differences, fmt.Sprintf("%s: %s: %s", name, field, text))
	}
	for name, our := range ours {
		their, ok := redis[name]
		spec := commands.Get(name)
		if inRedis := spec != nil && spec.InRedis(oracleVersion); ok != inRedis {
			note(name, "name", fmt.Sprintf("its row says that Redis %s has it: %v", oracleVersion, inRedis))
			continue
		}
		if !ok {
			continue
		}
		for _, field := range rowFields {
			if our.fields[field] != their.fields[field] {
				note(name, field, fmt.Sprintf("\n  lockstep:     %s\n  redis-server: %s", our.fields[field], their.fields[field]))
			}
		}
	}
	for _, d := range CommandDifferences {
		if !used[d.Reason] {
			unneeded = append(unneeded, fmt.Sprintf("%s %s (%s)", d.Command, d.Field, d.Reason))
		}
	}
	slices.Sort(differences)
	return differences, unneeded
}
