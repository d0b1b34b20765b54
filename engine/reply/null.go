package reply

// IsNull reports whether a reply is a null, of either protocol. A command that may wait
// answers so if it has found nothing.
func IsNull(reply []byte) bool {
	switch string(reply) {
	case "*-1\r\n", "$-1\r\n", "_\r\n":
		return true
	}
	return false
}
