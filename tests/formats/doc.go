// Package formats opens data folders that an earlier program has left behind. Every later
// program of the same cluster version, and every later version, must read the data on
// people's disks.
//
// For each log store there is one folder. testdata/<store>.tar.gz is the folder of a single
// node that was killed with -9, with values of every type in a snapshot and others in the log
// behind it. testdata/<store>.txt has the commands that read it, and the replies. The secret
// in the folder is that of a cluster that was made for this test and no longer exists.
//
// Lockstep has not been released yet. Until then an intended change of the log or of the snapshot
// needs no new cluster version: make the folders again, and commit them with the change. One
// command does that:
//
//	go test ./tests/formats -run TestFolders -record
//
// If the change writes something that script.go does not write, add that to script.go first.
// docs/decisions/0010-one-version.md says what holds after the release.
package formats
