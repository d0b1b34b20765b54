package command

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"lockstep/engine"
	"lockstep/engine/rdb"
)

// Codec says how the values of a kind are stored in snapshots, payloads and digests.
type Codec struct {
	Kind engine.Kind
	// Types are the RDB types that Read accepts.
	Types []byte
	// TypeOf is the type that Write writes.
	TypeOf func(e *engine.Entry) byte
	Write  func(out *rdb.Value, e *engine.Entry)
	// Read makes an entry of a value. The limits say which values are kept packed and which are too
	// long. If limits is nil, as for a snapshot, the value keeps the form that its type names,
	// which is the form that it had when the snapshot was taken.
	Read func(in *rdb.Source, typ byte, key []byte, limits *Settings) (*engine.Entry, error)
	// RedisKind is Redis's number of the kind, and Mix adds a value to a digest as Redis's DEBUG
	// DIGEST does.
	RedisKind uint32
	Mix       func(d *Digest, e *engine.Entry)
}

// ErrValueTooLong is the error of a Codec for a value that is longer than the limits allow.
var ErrValueTooLong = errors.New("command: a value is longer than the limit")

// Digest is the fingerprint that Redis's DEBUG DIGEST computes. Equal data gives equal digests in
// Redis and in Lockstep, in whatever order keys are visited.
type Digest [sha1.Size]byte

// Xor adds one element of a set, whose order does not matter.
func (d *Digest) Xor(data []byte) {
	for i, b := range sha1.Sum(data) {
		d[i] ^= b
	}
}

// Mix adds one element of a list, whose order matters.
func (d *Digest) Mix(data []byte) {
	d.Xor(data)
	*d = sha1.Sum(d[:])
}

// MixInt adds a number.
func (d *Digest) MixInt(n uint32) { d.Mix(binary.BigEndian.AppendUint32(nil, n)) }

func (d *Digest) String() string { return hex.EncodeToString(d[:]) }
