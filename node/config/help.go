package config

import (
	"fmt"
	"strings"
)

// Help is the text of --help, made from the table.
func Help() string {
	var b strings.Builder
	b.WriteString(`Usage: lockstepd [config-file] [-] [--directive value ...] ...

  config-file       text in the form of redis.conf
  -                 read more of it from standard input
  --directive ...   any directive of the file; LOCKSTEP_DIRECTIVE in the
                    environment sets it too. flag > environment > file > default
  --check-config    report what is wrong with the configuration, and exit
  --version, -v     print the version
  --help, -h        print this
`)
	group := ""
	for _, d := range table {
		if d.Policy != Honoured {
			continue
		}
		if d.Group != group {
			group = d.Group
			fmt.Fprintf(&b, "\n%s\n", group)
		}
		value := d.DefaultText()
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(&b, "  --%s <%s> (%s)\n", d.Name, d.Form(), value)
		for _, line := range wrap(d.Doc+" "+d.More, 70) {
			fmt.Fprintf(&b, "        %s\n", line)
		}
	}
	b.WriteString("\nLockstep knows every other directive of redis.conf, too; docs/configuration.md\nsays what each does here.\n")
	return b.String()
}

// wrap breaks text into lines of at most width columns, if words allow.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
