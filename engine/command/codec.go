package command

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"lockstep/engine"
	"lockstep/engine/rdb"
)

// valueCodec is how the values of a kind stand in snapshots, payloads and
// digests.
type valueCodec struct {
	kind engine.Kind
	// types are the RDB types that read takes.
	types []byte
	// typeOf is the type that write writes.
	typeOf func(e *engine.Entry) byte
	write  func(out *rdb.Value, e *engine.Entry)
	// read makes an entry of a value. The limits say what is kept packed and
	// what is too long; without them (nil: from a snapshot) the value is kept
	// as its type says, as it was where the snapshot was taken.
	read func(in *rdb.Source, typ byte, key []byte, limits *Settings) (*engine.Entry, error)
	// redisKind is Redis's number of the kind, and mix adds a value to a digest
	// as Redis's DEBUG DIGEST does.
	redisKind uint32
	mix       func(d *digest, e *engine.Entry)
}

var errTooLong = errors.New("command: a value is longer than the limit")

// digest is the fingerprint that Redis's DEBUG DIGEST computes: equal data
// gives equal digests, there and here, in whatever order keys are visited.
type digest [sha1.Size]byte

// xor adds one element of a set, whose order does not matter.
func (d *digest) xor(data []byte) {
	for i, b := range sha1.Sum(data) {
		d[i] ^= b
	}
}

// mix adds one element of a list, whose order matters.
func (d *digest) mix(data []byte) {
	d.xor(data)
	*d = sha1.Sum(d[:])
}

func (d *digest) mixInt(n uint32) { d.mix(binary.BigEndian.AppendUint32(nil, n)) }

func (d *digest) String() string { return hex.EncodeToString(d[:]) }
