package command

// Rows name the arguments that contain a password (Spec.Secrets), so that SLOWLOG and MONITOR can
// hide them.

// SecretsFrom makes the Secrets of a command whose arguments from one on are all secret.
func SecretsFrom(first int) func(args [][]byte) []int {
	return func(args [][]byte) []int { return appendPlaces(nil, first, len(args)) }
}

// SecretOption is a word among a command's options: how many arguments belong to it, and whether they are secret.
type SecretOption struct {
	Word   string
	Args   int
	Secret bool
}

// SecretOptions makes the Secrets of a command whose options begin at from. The arguments of one
// option are not mistaken for other options.
func SecretOptions(from int, options ...SecretOption) func(args [][]byte) []int {
	return func(args [][]byte) []int {
		var list []int
		for i := from; i < len(args); i++ {
			for _, o := range options {
				if !EqualFold(args[i], o.Word) {
					continue
				}
				if o.Secret {
					list = appendPlaces(list, i+1, min(i+1+o.Args, len(args)))
				}
				i += o.Args
				break
			}
		}
		return list
	}
}

func appendPlaces(list []int, from, to int) []int {
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
