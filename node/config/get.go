package config

import (
	"strings"

	"lockstep/engine/glob"
)

// Get answers CONFIG GET: the directives that match any of the patterns, each once, aliases under
// their own names. A name without wildcards is returned in the upper and lower case of the request,
// as in Redis.
func (c *Config) Get(patterns ...string) []Pair {
	s := c.Current()
	var out []Pair
	seen := make(map[string]bool)
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, "[*?") {
			name := strings.ToLower(pattern)
			if d, ok := Lookup(name); ok && !d.Has(fileOnly) && !seen[name] {
				seen[name] = true
				out = append(out, Pair{pattern, s.told(d)})
			}
			continue
		}
		for _, d := range table {
			for _, name := range d.Names() {
				if d.Has(fileOnly) || d.Has(hidden) || seen[name] || !glob.Match([]byte(pattern), []byte(name), true) {
					continue
				}
				seen[name] = true
				out = append(out, Pair{name, s.told(d)})
			}
		}
	}
	return out
}

// told is a directive's value as CONFIG GET shows it.
func (s *Settings) told(d *Directive) string {
	if text := s.text[d.row]; text == "" || !d.Has(concealed) {
		return text
	}
	return hiddenValue
}

// hiddenValue stands for a value that is not shown.
const hiddenValue = "(hidden)"

// Effective is a line of the configuration in force.
type Effective struct {
	Directive *Directive
	// Value is masked if the directive is a secret.
	Value  string
	Origin Origin
}

// Effective lists the honoured directives in the order of the table, and those of the others that
// are set to something else than their default.
func (c *Config) Effective() []Effective {
	s := c.Current()
	var out []Effective
	for _, d := range table {
		if d.Policy != Honoured && s.text[d.row] == d.canonicalDefault() {
			continue
		}
		value := s.text[d.row]
		if d.Has(Secret) && value != "" {
			value = hiddenValue
		}
		out = append(out, Effective{d, value, s.origin[d.row]})
	}
	return out
}
