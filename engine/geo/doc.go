// Package geo computes with places on the globe as Redis's geo indexes do: a
// place is a cell of a grid, whose number is the score of a sorted set.
//
// The grid halves the range of longitudes and that of latitudes (Web Mercator's,
// for there is no place nearer to the poles) in turn; a cell after 26 steps is
// about half a metre wide. The halves taken, longitude first, are the bits of
// its number, so cells near one another often have near numbers, and a larger
// cell is a range of them.
//
// Distances are those of a sphere. Results must be the same bits on every
// replica, whatever its processor, and the same as Redis's: so sine, cosine and
// arcsine are computed here with twice the precision and rounded once (C's
// library does nearly that), and a product that is added to is written as
// float64(x*y), which forbids the compiler to leave its rounding out.
package geo
