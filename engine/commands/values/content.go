package values

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
)

// Fingerprint is Redis's DEBUG DIGEST of one key: of its name, its value, and whether it expires.
// Equal data gives equal fingerprints in Redis and in Lockstep.
type Fingerprint = [20]byte

// FingerprintOf is the fingerprint of one key.
func FingerprintOf(e *engine.Entry) Fingerprint {
	var d command.Digest
	d.Mix(e.KeyBytes())
	MixValue(&d, e)
	return Fingerprint(d)
}

// ValueFingerprint is the fingerprint of a key's value alone, as DEBUG
// DIGEST-VALUE answers it for a key that does not expire.
func ValueFingerprint(e *engine.Entry) Fingerprint {
	var d command.Digest
	codec := CodecOf(e.Kind())
	d.MixInt(codec.RedisKind)
	codec.Mix(&d, e)
	return Fingerprint(d)
}

// ReadPayload makes an entry of the payload that DUMP answered, here or in
// Redis. The errors are package rdb's.
func ReadPayload(payload, key []byte) (*engine.Entry, error) {
	typ, body, ok := rdb.OpenPayload(payload)
	if !ok {
		return nil, rdb.ErrChecksum
	}
	return ReadBody(typ, body, key, nil)
}
