// Package process knows the process that a node runs in, and its machine: the version of the program,
// how much memory and processor time the process takes, how much memory it may take, and how much room
// the disk has. It also sets the pace of Go's garbage collector, and lets a long command leave its core
// to others for a moment.
//
// Nothing here knows of a cluster or of a node. What the operating system does not say is told as 0 or
// -1 and never as an error: these are numbers for reports.
package process
