package command

import (
	"lockstep/engine"
	"lockstep/engine/rdb"
)

// Fingerprint is what a key's name, value and presence of an expiry come to in
// Redis's DEBUG DIGEST. Equal data gives equal fingerprints, there and here.
type Fingerprint = [20]byte

// FingerprintOf is the fingerprint of one key.
func FingerprintOf(e *engine.Entry) Fingerprint {
	var d digest
	d.mix(e.KeyBytes())
	d.mixValue(e)
	return Fingerprint(d)
}

// ValueFingerprint is the fingerprint of a key's value alone, as DEBUG
// DIGEST-VALUE answers it for a key that does not expire.
func ValueFingerprint(e *engine.Entry) Fingerprint {
	var d digest
	codec := codecOf(e.Kind())
	d.mixInt(codec.redisKind)
	codec.mix(&d, e)
	return Fingerprint(d)
}

// ReadPayload makes an entry of the payload that DUMP answered, here or in
// Redis. The errors are package rdb's.
func ReadPayload(payload, key []byte) (*engine.Entry, error) {
	typ, body, ok := rdb.OpenPayload(payload)
	if !ok {
		return nil, rdb.ErrChecksum
	}
	return readPayload(typ, body, key, nil)
}
