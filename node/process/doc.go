// Package process describes the process that a node runs in, and its machine: the version of the
// program, how much memory and processor time the process takes, how much memory it may take, and
// how much room the disk has. It also sets the pace of Go's garbage collector, and lets a long
// command leave its core to others for a moment.
//
// The package knows nothing of clusters or nodes. A value that the operating system does not
// provide is 0 or -1 and never an error, because all values are for reports.
package process
