// Package licences keeps docs/THIRD_PARTY.md: what others have written that is in the
// programs, and under which terms. Its test fails when a dependency comes, goes
// or changes; -update writes the list anew, for a person to read what changed.
package licences
