// Package geo computes with places on the globe as Redis's geo indexes do: a place is a cell of a
// grid, and the cell's number is the score in a sorted set.
//
// The grid halves the range of longitudes and that of latitudes in turn. The latitudes are those of
// Web Mercator, so there are no places nearer to the poles. After 26 steps a cell is about half a
// metre wide. The choices of halves, longitude first, are the bits of the cell's number. So cells
// near one another often have near numbers, and a larger cell is a range of them.
//
// Distances are those on a sphere. Results must be the same bits on every replica, whatever its
// processor, and the same as Redis's. So sine, cosine and arcsine are computed here with twice the
// precision and rounded once (C's library does almost that). A product that is added to is written
// as float64(x*y), so that the compiler may not leave out its rounding.
package geo
