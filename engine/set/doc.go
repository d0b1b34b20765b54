// Package set is the value of a Redis set.
//
// A set has one of three forms, which are Redis's encodings. A set of only integers is a sorted
// array of numbers of 2, 4 or 8 bytes (intset). A set of few short members is a pack, in the order
// in which they were added (listpack). Any other set is a tree in the order of the members' hashes
// (hashtable). Redis's rules say when one form becomes another; every change gets the limits for
// that. A form never changes back, except in the results of set algebra.
//
// The order of a set is that of its form. So it is a function of the changes to the set and the
// same on every replica. A snapshot only needs to keep the form and the order.
//
// A member that is the decimal form of an integer of 64 bits is that integer; in a pack or a tree
// it is stored as text. Members that are returned are valid until the next one is returned, or
// until the set changes. The package takes no locks.
package set

import "math"

// Limits say which form a set may have; they are settings of redis.conf.
type Limits struct {
	// IntsetEntriesMax is the greatest number of members of an intset.
	IntsetEntriesMax int64
	// PackEntriesMax is the greatest number of members of a listpack, and PackValueBytesMax the
	// greatest length of a member.
	PackEntriesMax, PackValueBytesMax int64
}

// NoLimits keep the form of a set as long as its members allow.
var NoLimits = Limits{math.MaxInt64, math.MaxInt64, math.MaxInt64}

// Form is how a set is stored.
type Form uint8

// The forms.
const (
	Ints Form = iota
	Packed
	Large
)

// String is Redis's name for the encoding.
func (f Form) String() string { return [...]string{"intset", "listpack", "hashtable"}[f] }
