package raftio

import "github.com/hashicorp/raft"

// skipCovered removes from a leader's request the entries that the newest snapshot
// covers, if the log begins behind that snapshot. last and term describe the snapshot's
// last entry. Both are 0 if the log has that entry, or the request does not reach back to
// it.
//
// The library compares the entry that a request builds upon only with the log, unless it
// is the last entry of all. A log may begin right behind a snapshot, with entries that a
// former leader wrote and never committed, and for which the next leader has other
// entries. Then no request of that next leader would ever fit: the entry that both have
// is the snapshot's last entry, and that is in no log. The leader would try older and
// older entries, and then send its own snapshot, which is refused if it is the older one.
// If the group needs this replica for a majority, no newer snapshot would ever be
// written.
//
// A request that has that entry at its index, with the same term, agrees with the
// snapshot (Raft, section 5.3), so no comparison is needed any more: the library does not
// compare a request that builds upon no entry. A request that ends before that entry has
// only committed entries, which every leader has whose term is not older than this
// node's. But that does not show a leader of another history, after a recovery: the
// entries that it wrote since are of a later term than the snapshot's end, and go to the
// library unchanged.
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

// Covered is the last entry of the newest snapshot, and its term, if its index is at
// least from and it is not in the log. Otherwise both are 0.
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
