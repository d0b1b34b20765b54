package raftio

import "github.com/hashicorp/raft"

// skipCovered takes out of a leader's request what the newest snapshot covers, when the
// log begins behind it. last and term are the snapshot's last entry. Both are 0 if the log
// has that entry, or the request does not reach back to it.
//
// The library compares what a request builds upon with the log alone, unless it is the
// last entry of all. A log may begin right behind a snapshot, with what a former leader
// wrote and nobody committed, which the next leader has other entries for. Then nothing
// of that leader's would ever fit: what both have is the snapshot's last entry, and it
// is in no log. The leader would try older and older entries, and send its own snapshot,
// which may be the older one and is refused; and if the group needs this replica for a
// majority, no newer one would ever be written.
//
// A request that has that entry in its place, of the same term, agrees with the snapshot
// (Raft, section 5.3), and no comparison is left to be made: what builds upon no entry
// the library does not compare. One that ends before it is of what is committed, which
// every leader has that is not of an older term than this node's. But a leader of another
// history, behind a recovery, is not known by that: what it wrote since is of a later term
// than the snapshot's end, and goes to the library as it is.
func skipCovered(command any, covered func(from uint64) (last, term uint64)) {
	args, ok := command.(*raft.AppendEntriesRequest)
	if !ok || args.PrevLogEntry == 0 {
		return
	}
	prev := args.PrevLogEntry
	last, term := covered(prev)
	if last == 0 {
		return
	}
	skipped := args.Entries[:min(last-prev, uint64(len(args.Entries)))]
	at := args.PrevLogTerm
	if n := len(skipped); n > 0 {
		at = skipped[n-1].Term
	}
	if ends := prev + uint64(len(skipped)); at == term || ends < last && at < term {
		args.PrevLogEntry, args.PrevLogTerm, args.Entries = 0, 0, args.Entries[len(skipped):]
	}
}

// Covered is the last entry of the newest snapshot, and its term, if it is from on and
// not in the log; else 0.
func (s *Stores) Covered(from uint64) (last, term uint64) {
	newest := s.Snapshots.newest.Load()
	if newest == nil || newest.Index < from {
		return 0, 0
	}
	var l raft.Log
	if s.cache.GetLog(newest.Index, &l) == nil {
		return 0, 0
	}
	return newest.Index, newest.Term
}
