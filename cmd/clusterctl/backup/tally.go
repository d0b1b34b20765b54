package backup

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"lockstep/engine"
	"lockstep/engine/commands/values"
	"lockstep/engine/hash"
)

// Tally sums up a set of keys. Equal keys, values and expiries give equal tallies, in any
// order and in any number of files.
type Tally struct {
	Keys     int64            `json:"keys"`
	Expiring int64            `json:"expiring"`
	Types    map[string]int64 `json:"types"`
	// Digest is the sum, bit by bit, of a hash of each key, value and expiry.
	Digest string `json:"digest"`
	// AfterMs, in Unix milliseconds: keys and fields that expire until then are left out.
	AfterMs int64 `json:"-"`
	sum     [sha256.Size]byte
}

// Add adds a key, which the caller must not use any more. It leaves out expired keys, and
// expired fields of hashes.
func (t *Tally) Add(db int, e *engine.Entry) {
	if due := e.DueAtMs(); due != 0 && due <= t.AfterMs && !t.purgeExpired(e) {
		return
	}
	t.Keys++
	if e.ExpireAtMs != 0 {
		t.Expiring++
	}
	if t.Types == nil {
		t.Types = map[string]int64{}
	}
	t.Types[e.Kind().String()]++
	print := values.FingerprintOf(e)
	b := binary.BigEndian.AppendUint32(nil, uint32(db))
	b = binary.BigEndian.AppendUint64(b, uint64(e.ExpireAtMs))
	sum := sha256.Sum256(append(b, print[:]...))
	for i := range sum {
		t.sum[i] ^= sum[i]
	}
	t.Digest = hex.EncodeToString(t.sum[:])
}

// purgeExpired removes the expired fields of a hash. It returns false if nothing is left of
// the key.
func (t *Tally) purgeExpired(e *engine.Entry) bool {
	if at := e.ExpireAtMs; e.Kind() != engine.KindHash || at != 0 && at <= t.AfterMs {
		return false
	}
	h := e.Object().(*hash.Hash)
	h.Purge(t.AfterMs, math.MaxInt)
	return h.Len() > 0
}

// Merge adds another tally.
func (t *Tally) Merge(o *Tally) {
	t.Keys += o.Keys
	t.Expiring += o.Expiring
	if t.Types == nil {
		t.Types = map[string]int64{}
	}
	for name, n := range o.Types {
		t.Types[name] += n
	}
	for i := range t.sum {
		t.sum[i] ^= o.sum[i]
	}
	t.Digest = hex.EncodeToString(t.sum[:])
}

// Equal reports whether both are tallies of the same data.
func (t *Tally) Equal(o *Tally) bool { return t.Keys == o.Keys && t.sum == o.sum }

// Same compares with a tally that was read from a manifest.
func (t *Tally) Same(o *Tally) bool {
	return t.Keys == o.Keys && t.Expiring == o.Expiring && t.Digest == o.Digest && maps.Equal(t.Types, o.Types)
}

func (t *Tally) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t.Types)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, t.Types[name]))
	}
	if len(parts) == 0 {
		return "no keys"
	}
	return fmt.Sprintf("%d keys (%s)", t.Keys, strings.Join(parts, ", "))
}
