// Package backup writes a cluster into files, loads such files and any RDB file
// into a cluster, and compares the two.
//
// A backup is a folder: one RDB file for each shard, and manifest.json, which is written last,
// under a temporary name, and then renamed. A folder without a manifest is not a backup, whatever
// else is in it. Fetch makes a backup, Verify checks one, Prune deletes old ones, Load brings files
// into a cluster, and Tally describes the contents of files or of a cluster in a few numbers. A
// Mark in the cluster keeps two loads apart.
//
// Memory is bounded by the largest single value and some batches.
package backup
