// Package licences keeps docs/THIRD_PARTY.md: the software of others in the programs, and its
// terms. The test fails when a dependency is added, removed or changed. -update rewrites the list;
// a person must then read the changes.
package licences
