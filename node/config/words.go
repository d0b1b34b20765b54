package config

import (
	"errors"

	"lockstep/proto/resp"
)

var errQuotes = errors.New("unbalanced quotes")

// splitLine parts a line into words by the rules of redis.conf, which are those of
// inline commands.
func splitLine(line string) ([]string, error) {
	args, ok := resp.SplitArgs([]byte(line))
	if !ok {
		return nil, errQuotes
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = string(a)
	}
	return words, nil
}
