// Package live copies a running Redis (or Valkey) into a cluster and follows what
// is written there, as a replica would, until it is told to cut over.
//
// Three goroutines work beside each other. The link (link.go) takes the source's
// stream off its hands at once and keeps it in a file (spool.go): a source cuts
// off replicas that read slowly. The loader brings the source's RDB file into the
// cluster (package backup). Then the applier (apply.go) runs the stream's commands,
// in their order.
//
// Until the cut-over nothing expires on the cluster but what the source says has
// (hold.go); then backup.Release gives every key its time.
//
// A link that breaks goes on where it ended, if the source still has that part of
// its stream. If not, or if it is not known whether a command has run on the
// cluster, the copy begins anew, with an empty cluster: commands such as INCR must
// not run twice.
package live
