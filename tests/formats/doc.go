// Package formats opens data folders that an earlier program has left behind: what
// is on people's disks must be read by every later program of the same cluster
// version, and by later versions.
//
// For each log store there is one folder: testdata/<store>.tar.gz is the folder of a
// lone node that was killed with -9, with values of every type in a snapshot and
// others in the log behind it. testdata/<store>.txt has the commands that were sent
// to read it, and the replies. The secret in the folder is that of a cluster which was
// made for this test and is no more.
//
// Lockstep has not been released yet. Until it is, a change of the log or of the
// snapshot that is intended needs no new cluster version: make the folders anew, and
// commit them with the change. One command does so:
//
//	go test ./tests/formats -run TestFolders -record
//
// If the change writes what script.go does not touch, add it there first.
// docs/decisions/0010-one-version.md says what holds after the release.
package formats
