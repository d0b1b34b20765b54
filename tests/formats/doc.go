// Package formats opens data folders that earlier versions left behind: what
// is on people's disks must be read by every later version.
//
// testdata/<name>.tar.gz is the folder of a lone node, killed with -9, with
// values of every type in a snapshot and others in the log behind it;
// testdata/<name>.txt has the commands that were sent and what reads replied.
// There is one folder per cluster version and log store; none is ever changed. That
// of version 3 was written by a program of version 5 that was linked not to know more.
//
// To keep one more, when a format has changed and before the change is
// released:
//
//	go test ./tests/formats -run TestRecord -record v3
//
// and commit the files. If the new version writes what the old script does not
// touch, add it to script.go first; the older folders keep their own words.
package formats
