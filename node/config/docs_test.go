package config

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/kit/golden"
)

// docs/configuration.md is made from the table: `make docs`.
func TestDocumentationIsTheTable(t *testing.T) {
	golden.Check(t, "../../docs/configuration.md", documentation())
}

const docsHead = `# Configuration

<!-- Generated from the table in node/config by make docs. Do not edit. -->

A node reads its settings from four sources. Each one overrides those before it: the defaults below, a file in
the form of redis.conf (and standard input, if the command line says ` + "`-`" + `), the environment, the command line.

    lockstepd /etc/lockstep.conf --port 7000 --maxmemory 2gb
    LOCKSTEP_MAXMEMORY=2gb lockstepd --port=7000
    echo 'maxmemory 2gb' | lockstepd -

The environment variable of a directive is LOCKSTEP_ and its name in capitals, with ` + "`_` for `-`" + `. The node
warns of a variable that names no directive. It skips the variables that Kubernetes sets for a Service called
lockstep (LOCKSTEP_PORT=tcp://...), and LOCKSTEP_PASSWORD, which belongs to clusterctl.
` + "`lockstepd --check-config ...`" + ` reports what is wrong and starts nothing.

The file has the syntax of redis.conf. Each line is a directive and its words. ` + "`#`" + ` begins a comment line. "..."
and '...' quote. 1k is 1000 bytes and 1kb is 1024; m and g work the same way. ` + "`include`" + ` takes a path or a
pattern, relative to the folder that the process runs in. An unknown directive stops the start; the error has the
place and the nearest name.

` + "`CONFIG SET`" + ` changes every setting that is not marked *start* below. It sets all of its pairs or none, on this
node, until the node restarts. The column *changes* has these marks:

- *start*: the setting is read at the start of the node only.
- *cluster*: the setting holds for the whole cluster. A change goes through the log and outlives restarts, and the
  log overrides a node's own sources.
- *creation*: the setting is read when the state of a node or of a cluster is made, and not again.

Every directive of Redis 7.2 is known, and has one of four policies:

| policy | in a file, a variable, a flag | CONFIG SET | CONFIG GET |
|---|---|---|---|
| honoured | does what it says | the same | the value |
| ignored | warning, unless it is the default | OK, no effect | what was set |
| fixed | warning, unless it is the fact | error, unless it is the fact | the fact |
| refused | the node does not start, unless it is the default | error | the default |

CONFIG SET refuses, in Redis's words, every directive that Redis reads at its start only, whatever its policy here.
*hidden* marks directives that CONFIG GET, as in Redis, shows for the exact name and not for a pattern.
`

// documentation renders the table.
func documentation() string {
	var b strings.Builder
	b.WriteString(docsHead)
	for rows := table; len(rows) > 0; {
		n := 1
		for n < len(rows) && rows[n].Group == rows[0].Group {
			n++
		}
		docGroup(&b, rows[:n])
		rows = rows[n:]
	}
	return b.String()
}

// docGroup renders a group: a table of the honoured directives, the longer explanations, and a
// table of the other directives.
func docGroup(b *strings.Builder, rows []*Directive) {
	fmt.Fprintf(b, "\n## %s\n", rows[0].Group)
	var honoured, others, notes []string
	for _, d := range rows {
		if d.Policy != Honoured {
			others = append(others, fmt.Sprintf("| %s | %s | %s | %s |\n", docNames(d), d.Policy, docDefault(d), docReason(d)))
			continue
		}
		honoured = append(honoured, fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
			docNames(d), cell(d.Form()), docDefault(d), docChanges(d), docText(d)))
		if note := docNote(d); note != "" {
			notes = append(notes, note)
		}
	}
	docTable(b, "| directive | value | default | changes | what it does |\n|---|---|---|---|---|\n", honoured)
	if len(notes) > 0 {
		b.WriteString("\n" + strings.Join(notes, ""))
	}
	docTable(b, "| directive | policy | value | reason |\n|---|---|---|---|\n", others)
}

func docTable(b *strings.Builder, head string, rows []string) {
	if len(rows) > 0 {
		b.WriteString("\n" + head + strings.Join(rows, ""))
	}
}

// docNote is a row's longer explanation, as an item of the list under the table.
func docNote(d *Directive) string {
	text := d.More
	if d.Differs != "" {
		text += " Not Redis's default: " + d.Differs + "."
	}
	if text == "" {
		return ""
	}
	lines := wrap("- `"+d.Name+"`: "+text, docColumns-2)
	return strings.Join(lines, "\n  ") + "\n"
}

// docColumns is how long a line of prose may be: tests/lint has the rule.
const docColumns = 120

func docNames(d *Directive) string { return "`" + strings.Join(d.Names(), "`, `") + "`" }

func docDefault(d *Directive) string {
	switch {
	case d.derive != nil:
		return cell(d.deriveDoc)
	case d.Default == "":
		return "none"
	}
	return "`" + cell(d.Default) + "`"
}

func docChanges(d *Directive) string {
	var words []string
	for _, f := range []struct {
		flag Flags
		word string
	}{{CreationOnly, "creation"}, {Immutable, "start"}, {Replicated, "cluster"}} {
		if d.Has(f.flag) && !(f.flag == Immutable && d.Has(CreationOnly)) {
			words = append(words, f.word)
		}
	}
	return strings.Join(words, ", ")
}

func docText(d *Directive) string {
	text := d.Doc
	if d.Has(Secret) {
		text += " Masked in logs."
	}
	return cell(text)
}

func docReason(d *Directive) string {
	text := d.Why
	if d.Has(hidden) {
		text += "; *hidden*"
	}
	if len(d.refuses) > 0 {
		text += "; `" + strings.Join(d.refuses, "`, `") + "` is refused"
	}
	return cell(text)
}

// cell is text that does not break a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
