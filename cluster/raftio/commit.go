package raftio

import "github.com/hashicorp/raft"

// boundCommit lets a leader's request commit no more than what it compares or brings.
//
// The library commits what the leader has committed, as far as its own log reaches.
// That log may go on behind what the request compares, with what a former leader
// wrote and nobody committed; and the leader looks how long its log is before it
// looks how far it has committed. So when it has just been elected, a request may
// compare the last entry of before, bring none, and name as committed the first of
// the new term, which others have taken meanwhile. A follower that has an entry of
// the former leader in that place would apply it.
func boundCommit(command any) {
	args, ok := command.(*raft.AppendEntriesRequest)
	if !ok {
		return
	}
	agreed := args.PrevLogEntry
	if n := len(args.Entries); n > 0 {
		agreed = args.Entries[n-1].Index
	}
	args.LeaderCommitIndex = min(args.LeaderCommitIndex, agreed)
}
