package config

import (
	"strings"

	"lockstep/cluster/secret"
)

// clusterSecret takes a cluster secret, and after it the previous one.
func clusterSecret() codec[string] {
	return codec[string]{
		form: "SECRET [PREVIOUS]", words: true,
		parse: func(_ string, words []string) (string, error) {
			list, err := secret.Parse(strings.Join(words, " "))
			return strings.TrimSpace(list.Text()), err
		},
		format: func(text string) string { return strings.ReplaceAll(text, "\n", " ") },
	}
}
