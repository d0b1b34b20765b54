// Package live copies a running Redis (or Valkey) into a cluster and follows its writes,
// as a replica would, until it is told to cut over.
//
// Three goroutines work side by side. The link (link.go) reads the source's stream at once
// and keeps it in a file (spool.go), because a source cuts off replicas that read slowly.
// The loader brings the source's RDB file into the cluster (package backup). Then the
// applier (apply.go) runs the stream's commands, in their order.
//
// Until the cut-over nothing expires on the cluster except what the source reports as
// expired (hold.go). Then backup.Release gives every key its time.
//
// If the link breaks, it continues where it ended, if the source still has that part of its stream.
// If not, or if it is unknown whether a command has run on the cluster, the copy begins again with
// an empty cluster: commands such as INCR must not run twice.
package live
