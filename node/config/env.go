package config

import (
	"regexp"
	"strings"
)

// serviceLink matches the variables that Kubernetes sets in every container for
// every Service of its namespace. A Service called lockstep makes
// LOCKSTEP_PORT=tcp://10.0.0.1:6379 out of nowhere.
var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

// toolPassword belongs to clusterctl, which may run in the same environment.
const toolPassword = envPrefix + "PASSWORD"

func isServiceLink(name, value string) bool {
	return serviceLink.MatchString(name) ||
		strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

// readEnv turns LOCKSTEP_... variables into assignments. A variable that names no
// directive is a warning, not an error: other programs may have set it.
func readEnv(env []string) (found []assignment, warnings []Warning, bad problems) {
	byEnv := make(map[string]*Directive, len(byName))
	for name, d := range byName {
		byEnv[envName(name)] = d
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || isServiceLink(name, value) {
			continue
		}
		d := byEnv[name]
		if d == nil && name == toolPassword {
			continue
		}
		if d == nil {
			word := strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "_", "-")
			warnings = append(warnings, Warning{name, unknownEnv(word) + "; it is ignored"})
			continue
		}
		args := []string{value}
		if d.kind.words() && value != "" {
			var err error
			if args, err = splitLine(value); err != nil {
				bad.add(name, "%v", err)
				continue
			}
		}
		found = append(found, assignment{d, args, Origin{FromEnv, name}})
	}
	return found, warnings, bad
}

func unknownEnv(word string) string {
	text := "no directive has this variable"
	if near, ok := nearest(word); ok {
		text += "; did you mean " + envName(near) + "?"
	}
	return text
}
