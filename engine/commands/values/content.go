package values

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
)

// Fingerprint is what a key's name, value and presence of an expiry come to in
// Redis's DEBUG DIGEST. Equal data gives equal fingerprints, there and here.
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
