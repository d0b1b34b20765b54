package raftio

import "github.com/hashicorp/raft"

// boundCommit limits the commit index in a leader's request to the last entry that the
// request compares or brings.
//
// The library commits up to the leader's commit index, as far as its own log reaches.
// Behind the entry that the request compares, that log may continue with entries that a
// former leader wrote and never committed. And the leader reads the length of its log
// before it reads its commit index. So right after an election, a request may compare the
// last entry of an earlier term, bring none, and name as committed the first entry of the
// new term, which other followers have accepted meanwhile. A follower that has an entry
// of the former leader at that index would apply it.
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
