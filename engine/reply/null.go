package reply

// IsNull reports whether a reply is a null, in either protocol. A command that may wait answers
// null if it found nothing.
func IsNull(reply []byte) bool {
	switch string(reply) {
	case "*-1\r\n", "$-1\r\n", "_\r\n":
		return true
	}
	return false
}
