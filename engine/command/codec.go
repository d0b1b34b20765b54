package command

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"lockstep/engine"
	"lockstep/engine/rdb"
)

// Codec is how the values of a kind stand in snapshots, payloads and
// digests.
type Codec struct {
	Kind engine.Kind
	// Types are the RDB types that read takes.
	Types []byte
	// TypeOf is the type that write writes.
	TypeOf func(e *engine.Entry) byte
	Write  func(out *rdb.Value, e *engine.Entry)
	// Read makes an entry of a value. The limits say what is kept packed and
	// what is too long; without them (nil: from a snapshot) the value is kept
	// as its type says, as it was where the snapshot was taken.
	Read func(in *rdb.Source, typ byte, key []byte, limits *Settings) (*engine.Entry, error)
	// RedisKind is Redis's number of the kind, and mix adds a value to a digest
	// as Redis's DEBUG DIGEST does.
	RedisKind uint32
	Mix       func(d *Digest, e *engine.Entry)
}

// ErrValueTooLong is the error of a Codec for a value that is longer than the limits allow.
var ErrValueTooLong = errors.New("command: a value is longer than the limit")

// Digest is the fingerprint that Redis's DEBUG DIGEST computes: equal data
// gives equal digests, there and here, in whatever order keys are visited.
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
