package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// reference generates the page on clusterctl from the commands.
func reference(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# clusterctl\n\nGenerated from the program's help by `make docs`. [operations.md](operations.md) says when to use which verb.\n\n")
	fmt.Fprintf(&b, "%s\n\n", fenced(root.Long))
	fmt.Fprintf(&b, "Every verb has these flags:\n\n%s\n", flagTable(root.PersistentFlags()))
	fmt.Fprintf(&b, "`clusterctl completion bash` (or `zsh`, `fish`, `powershell`) prints a script that completes verbs,\nflags and node names.\n")
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(g.Title, ":"))
		for _, verb := range root.Commands() {
			if verb.GroupID == g.ID {
				verbPage(&b, verb)
			}
		}
	}
	return b.String()
}

func verbPage(b *strings.Builder, verb *cobra.Command) {
	fmt.Fprintf(b, "\n### %s\n\n    clusterctl %s\n\n", verb.Name(), verb.Use)
	text := verb.Long
	if text == "" {
		text = verb.Short + "."
	}
	fmt.Fprintf(b, "%s\n", fenced(text))
	if table := flagTable(verb.LocalNonPersistentFlags()); table != "" {
		fmt.Fprintf(b, "\n%s", table)
	}
}

// fenced turns lines that begin with two blanks into blocks of code.
func fenced(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

func flagTable(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if b.Len() == 0 {
			b.WriteString("| flag | default | what it does |\n|---|---|---|\n")
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		preset := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			preset = "`" + strings.Trim(f.DefValue, "[]") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, preset, strings.ReplaceAll(f.Usage, "|", `\|`))
	})
	return b.String()
}

// Every verb and every flag has an explanation, and every verb a group.
func TestEveryVerbIsExplained(t *testing.T) {
	for _, verb := range newRoot().Commands() {
		if verb.GroupID == "" || verb.Short == "" || strings.HasSuffix(verb.Short, ".") {
			t.Errorf("%s: group %q, %q", verb.Name(), verb.GroupID, verb.Short)
		}
		verb.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s is not explained", verb.Name(), f.Name)
			}
		})
	}
}
