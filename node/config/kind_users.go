package config

import (
	"errors"
	"strings"

	"lockstep/proto/acl"
)

// userWord begins a user's line, and separates the lines here. No rule has this name.
const userWord = "user"

// userLines takes the words of lines "user NAME RULE...", without the first
// word.
func userLines() codec[[]string] {
	return codec[[]string]{
		form: "NAME RULE...", words: true,
		parse: func(_ []string, words []string) ([]string, error) {
			var lines []string
			for begin := 0; begin < len(words); {
				end := begin + 1
				for end < len(words) && words[end] != userWord {
					end++
				}
				if words[begin] != "" {
					lines = append(lines, userWord+" "+strings.Join(words[begin:end], " "))
				}
				begin = end + 1
			}
			if _, err := acl.Parse(lines, acl.Options{}); err != nil {
				_, why, _ := strings.Cut(err.Error(), ": ")
				return nil, errors.New(why)
			}
			return lines, nil
		},
		format: func(lines []string) string {
			return strings.TrimPrefix(strings.Join(lines, " "), userWord+" ")
		},
	}
}
