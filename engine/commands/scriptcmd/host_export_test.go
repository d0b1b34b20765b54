package scriptcmd

// Internals of Host that tests use.

// Declared reports whether a key is among the script's.
func (h *Host) Declared(key []byte) bool { return h.declared(key) }

// Refusal returns why a command cannot run from the script.
func (h *Host) Refusal(args [][]byte) string { return h.refusal(h.spec(args), args) }

// AfterWriting is a host whose script has written something.
func AfterWriting(h Host) Host {
	h.wrote = true
	return h
}
