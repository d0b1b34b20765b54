// Package set is the value of a Redis set.
//
// A set is kept in one of three forms, which are Redis's encodings: whole
// numbers alone as a sorted array of numbers of 2, 4 or 8 bytes (intset); few
// short members as a pack, in the order in which they came (listpack);
// anything else as a tree in the order of the members' hashes (hashtable).
// When one becomes another is Redis's rule, by the limits that every change is
// given; except for what algebra builds anew, a form never goes back.
//
// The order of a set is the order of its form. So it is a function of the
// changes the set has seen, the same on every replica, and Form and the order
// are all that a snapshot has to keep.
//
// A member that is the decimal form of an integer of 64 bits is that integer;
// in a pack or tree it stands as text. Members that are handed out are valid
// until the next one is, or until the set changes. Nothing here takes locks.
package set

import "math"

// Limits say which form a set may have; they are settings of redis.conf.
type Limits struct {
	// IntsetEntriesMax is the greatest number of members of an intset.
	IntsetEntriesMax int64
	// PackEntriesMax is the greatest number of members of a listpack, and
	// PackValueBytesMax the greatest length of one.
	PackEntriesMax, PackValueBytesMax int64
}

// NoLimits leave a set in the form it has as long as its members allow.
var NoLimits = Limits{math.MaxInt64, math.MaxInt64, math.MaxInt64}

// Form is how a set is kept.
type Form uint8

// The forms.
const (
	Ints Form = iota
	Packed
	Large
)

// String is Redis's name of the encoding.
func (f Form) String() string { return [...]string{"intset", "listpack", "hashtable"}[f] }
