package command

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"

	"lockstep/engine"
)

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

// mixers add the values of each kind. Redis's number of the kind goes first.
var mixers = map[engine.Kind]struct {
	redisType uint32
	mix       func(d *digest, e *engine.Entry)
}{
	engine.KindString: {0, func(d *digest, e *engine.Entry) { d.mix(e.Text()) }},
}

// mixValue adds a key's value, and whether it expires.
func (d *digest) mixValue(e *engine.Entry) {
	m := mixers[e.Kind()]
	d.mixInt(m.redisType)
	m.mix(d, e)
	if e.ExpireAtMs != 0 {
		d.xor([]byte("!!expire!!"))
	}
}

func (d *digest) String() string { return hex.EncodeToString(d[:]) }

// runDigest answers the digest of all databases.
func runDigest(c *Ctx, _ [][]byte) {
	var sum digest
	for db := range engine.Databases {
		begun := false
		err := c.walkAll(db, func(e *engine.Entry) bool {
			if !begun {
				begun = true
				sum.mixInt(uint32(db))
			}
			var d digest
			d.mix(e.KeyBytes())
			d.mixValue(e)
			sum.xor(d[:])
			return true
		})
		if err != nil {
			c.walkFailed(err)
			return
		}
	}
	c.Out.Status(sum.String())
}

// runDigestValue answers the digest of each key's value, zeros where there is
// none.
func runDigestValue(c *Ctx, args [][]byte) {
	c.Out.Array(len(args) - 1)
	for _, key := range args[1:] {
		var d digest
		if e := c.KS.Find(c.slot(key), c.DB, key); e != nil {
			d.mixValue(e)
		}
		c.Out.Status(d.String())
	}
}
