package scriptcmd

// What the tests of Host reach of its inside.

// Declared tells whether a key is among the script's.
func (h *Host) Declared(key []byte) bool { return h.declared(key) }

// Refusal is why a command cannot run from the script.
func (h *Host) Refusal(args [][]byte) string { return h.refusal(h.spec(args), args) }

// AfterWriting is a host whose script has written something.
func AfterWriting(h Host) Host {
	h.wrote = true
	return h
}
