// Package backup writes a cluster into files, reads such files and any RDB file
// into a cluster, and compares the two.
//
// A backup is a folder: one RDB file for each shard, and manifest.json, which is
// written last and under another name first. A folder without one is no backup,
// whatever else is in it. Fetch makes one, Verify checks one, Prune deletes old
// ones, Load brings files into a cluster, and Tally says in a few numbers what files
// or a cluster hold. A Mark in the cluster keeps those who load apart.
//
// Memory is bounded by the largest single value and some batches.
package backup
