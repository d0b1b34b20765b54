package command

import "math"

// Rows name the arguments that say a password (Spec.Secrets), so that SLOWLOG and MONITOR can hide them.

// secretsFrom makes the Secrets of a command whose arguments from one on are all secret.
func secretsFrom(first int) func(args [][]byte) []int {
	return func(args [][]byte) []int { return appendPlaces(nil, first, len(args)) }
}

// secretOption is a word among a command's options: how many arguments belong to it, and whether they are secret.
type secretOption struct {
	word   string
	args   int
	secret bool
}

// secretOptions makes the Secrets of a command whose options begin at from. The arguments of one option are not taken
// for the words of others.
func secretOptions(from int, options ...secretOption) func(args [][]byte) []int {
	return func(args [][]byte) []int {
		var list []int
		for i := from; i < len(args); i++ {
			for _, o := range options {
				if !equalFold(args[i], o.word) {
					continue
				}
				if o.secret {
					list = appendPlaces(list, i+1, min(i+1+o.args, len(args)))
				}
				i += o.args
				break
			}
		}
		return list
	}
}

var (
	helloSecrets = secretOptions(2, secretOption{"auth", 2, true}, secretOption{"setname", 1, false})

	migrateSecrets = secretOptions(migrateOptionsArg,
		secretOption{"auth", 1, true}, secretOption{"auth2", 2, true}, secretOption{"keys", math.MaxInt32, false})
)

// secretSettings are the settings whose values are secret.
var secretSettings = []string{
	"requirepass", "cluster-secret", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass",
}

// configSecrets are the Secrets of CONFIG SET.
func configSecrets(args [][]byte) []int {
	var list []int
	for i := 2; i+1 < len(args); i += 2 {
		for _, name := range secretSettings {
			if equalFold(args[i], name) {
				list = append(list, i+1)
			}
		}
	}
	return list
}

func appendPlaces(list []int, from, to int) []int {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
