package nodecmd

import "lockstep/engine/command"

var helloSecrets = command.SecretOptions(2,
	command.SecretOption{Word: "auth", Args: 2, Secret: true}, command.SecretOption{Word: "setname", Args: 1})

// secretSettings are the settings whose values are secret.
var secretSettings = []string{
	"requirepass", "cluster-secret", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass",
}

// configSecrets are the Secrets of CONFIG SET.
func configSecrets(args [][]byte) []int {
	var list []int
	for i := 2; i+1 < len(args); i += 2 {
		for _, name := range secretSettings {
			if command.EqualFold(args[i], name) {
				list = append(list, i+1)
			}
		}
	}
	return list
}
