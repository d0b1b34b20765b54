package node

import (
	"context"
	"fmt"

	"lockstep/cluster/meta"
	"lockstep/cluster/raftio"
	"lockstep/node/config"
)

// openJournal opens the log that the shards of this node share, if the folder has one or should get
// one. The meta group keeps its own log because it hardly ever writes.
func (n *Node) openJournal(context.Context) error {
	s := n.Config.Current()
	dir := n.Folder.JournalDir()
	if !raftio.HasJournal(dir) && !wantsJournal(s, n.Self.Creation.Shards()) {
		return nil
	}
	fatal := func(err error) { n.die(fmt.Errorf("journal: %w", err)) }
	j, err := raftio.OpenJournal(dir, n.Self.LogStore, n.Folder.GroupDirs(), fatal, raftio.NewLogger(n.Log, "journal"))
	if err != nil {
		return err
	}
	n.journal = j
	return j.DropOthers(func(group uint32) bool { return raftio.HasFolder(n.Folder.GroupDir(group)) })
}

// wantsJournal reports whether a new node should have a journal.
func wantsJournal(s *config.Settings, shards int) bool { return s.LogShared && shards > 1 }

// journalOf returns the log that a group shares with others, or nil if it has its own.
func journalOf(shared *raftio.Journal, group uint32) *raftio.Journal {
	if group == meta.GroupID {
		return nil
	}
	return shared
}
