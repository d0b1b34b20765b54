package config

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/golden"
)

// docs/configuration.md is made from the table: `make docs`.
func TestDocumentationIsTheTable(t *testing.T) {
	golden.Check(t, "../../docs/configuration.md", documentation())
}

const docsHead = `# Configuration

<!-- Generated from the table in node/config by make docs. Do not edit. -->

A node reads its settings from, in rising order of weight: the defaults below, a file in the form of
redis.conf (and standard input, where the command line says ` + "`-`" + `), the environment, the command line.

    lockstepd /etc/lockstep.conf --port 7000 --maxmemory 2gb
    LOCKSTEP_MAXMEMORY=2gb lockstepd --port=7000
    echo 'maxmemory 2gb' | lockstepd -

The variable of a directive is LOCKSTEP_ and its name in capitals with ` + "`_` for `-`" + `. A variable that
names no directive is warned of; those that Kubernetes sets for a Service called lockstep
(LOCKSTEP_PORT=tcp://...) are passed over, and so is LOCKSTEP_PASSWORD, which is clusterctl's. ` + "`lockstepd --check-config ...`" + ` says what is wrong and starts nothing.

The file has redis.conf's syntax: a directive and its words on a line; ` + "`#`" + ` begins a comment line; "..." and
'...' quote; 1k is 1000 bytes, 1kb 1024, so with m and g; ` + "`include`" + ` takes a path or a pattern, seen from the
folder the process runs in. A directive that is not known stops the start, with the place and the nearest name.

` + "`CONFIG SET`" + ` changes what is not marked *start* below, all of its pairs or none, on this node and until it
restarts. *cluster* marks settings that hold for the whole cluster: a change goes through the log and outlives
restarts, and what the log says wins over a node's own sources. *creation* marks those that are read when a node's or a cluster's state is made, and not again.

Every directive of Redis 7.2 is known, and has one of four policies:

| policy | in a file, a variable, a flag | CONFIG SET | CONFIG GET |
|---|---|---|---|
| honoured | does what it says | the same | the value |
| ignored | warning, unless it is the default | OK, no effect | what was set |
| fixed | warning, unless it is the fact | error, unless it is the fact | the fact |
| refused | the node does not start, unless it is the default | error | the default |

What Redis itself takes at the start alone, CONFIG SET refuses here in its words, be it honoured or not. *hidden* marks what
CONFIG GET, as Redis's, tells of to who gives the whole name, and leaves out of answers to patterns.
`

// documentation renders the table.
func documentation() string {
	var b strings.Builder
	b.WriteString(docsHead)
	group := ""
	for _, d := range table {
		if d.Group != group {
			group = d.Group
			fmt.Fprintf(&b, "\n## %s\n\n", group)
			if d.Policy == Honoured {
				b.WriteString("| directive | value | default | changes | what it does |\n|---|---|---|---|---|\n")
			} else {
				b.WriteString("| directive | policy | value | reason |\n|---|---|---|---|\n")
			}
		}
		if d.Policy == Honoured {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", docNames(d), cell(d.Form()), docDefault(d), docChanges(d), docText(d))
		} else {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", docNames(d), d.Policy, docDefault(d), docReason(d))
		}
	}
	return b.String()
}

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
	if d.Differs != "" {
		text += " Not Redis's default: " + d.Differs + "."
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
