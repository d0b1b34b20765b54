package config

import (
	"errors"

	"lockstep/ground/words"
)

var errQuotes = errors.New("unbalanced quotes")

// splitLine splits a line into words by the rules of redis.conf, which are those of inline
// commands.
func splitLine(line string) ([]string, error) {
	args, ok := words.Split([]byte(line))
	if !ok {
		return nil, errQuotes
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = string(a)
	}
	return texts, nil
}
