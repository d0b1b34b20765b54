// Package licences keeps docs/THIRD_PARTY.md: the software of others in the programs, and its
// terms. The test fails when a dependency is added, removed or changed. -update writes the
// list anew; a person must then read what changed.
package licences
