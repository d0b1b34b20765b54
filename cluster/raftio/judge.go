package raftio

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// A request for Raft may come from a node that runs another program, or is faulty. The
// library trusts it: an entry of an unknown type, a configuration that cannot be read or
// a missing entry ends the process, and a term near the end of all terms leaves none in
// which to elect a leader. So only a well-formed request reaches Raft. The contents of an
// entry concern only the state machine: the leader of a group may write any log.

// errSense says that a request is malformed. Its sender gets the reason.
var errSense = errors.New("a request that makes no sense")

func senseless(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSense, fmt.Sprintf(format, args...))
}

const (
	// termsAheadMax is how far a term may be ahead of this node's own. A node that has
	// been away for ten years, with ten elections a second, is no further behind.
	termsAheadMax = 1 << 32
	// indexMax is the greatest index of an entry.
	indexMax = 1<<63 - 1
	// nameBytesMax is the length of a server's id or address.
	nameBytesMax = 1024
)

// judge says why a request must not reach Raft, which is in this term. It returns nil if
// it may.
func (t *Transport) judge(command any, term uint64) error {
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		return errors.Join(judgeSender(&c.RPCHeader), judgeTerm(c.Term, term), t.judgeEntries(c))
	case *raft.RequestVoteRequest:
		return errors.Join(judgeSender(&c.RPCHeader), judgeTerm(c.Term, term), judgeEnd(c.LastLogIndex, c.LastLogTerm, c.Term))
	case *raft.RequestPreVoteRequest:
		return errors.Join(judgeSender(&c.RPCHeader), judgeTerm(c.Term, term), judgeEnd(c.LastLogIndex, c.LastLogTerm, c.Term))
	case *raft.InstallSnapshotRequest:
		return errors.Join(judgeSender(&c.RPCHeader), judgeTerm(c.Term, term), judgeInstall(c))
	case *raft.TimeoutNowRequest:
		return judgeSender(&c.RPCHeader)
	}
	return senseless("%T", command)
}

// judgeSender checks how a request names its sender. Raft keeps that name, or writes it
// down with its vote. If the address is missing, Raft would read a field of earlier
// versions.
func judgeSender(h *raft.RPCHeader) error {
	if n := max(len(h.ID), len(h.Addr)); n > nameBytesMax {
		return senseless("a name of %d bytes", n)
	}
	if len(h.Addr) == 0 {
		return senseless("no address of the sender")
	}
	return nil
}

func judgeTerm(term, own uint64) error {
	if term > own && term-own > termsAheadMax {
		return senseless("term %d, and this is term %d", term, own)
	}
	return nil
}

// judgeEnd checks what a request of this term says about the last entry of its sender.
func judgeEnd(index, indexTerm, term uint64) error {
	if index > indexMax || indexTerm > term {
		return senseless("entry %d of term %d in term %d", index, indexTerm, term)
	}
	return nil
}

// judgeEntries checks the entry that a leader's request builds upon, and the entries it
// brings.
func (t *Transport) judgeEntries(c *raft.AppendEntriesRequest) error {
	if err := judgeEnd(c.PrevLogEntry, c.PrevLogTerm, c.Term); err != nil {
		return err
	}
	index, term := c.PrevLogEntry, c.PrevLogTerm
	for _, l := range c.Entries {
		index++
		if l == nil || l.Index != index || l.Term < term || l.Term > c.Term || index > indexMax {
			return senseless("no entry %d of term %d to %d where it should be", index, term, c.Term)
		}
		term = l.Term
		if err := t.judgeEntry(l); err != nil {
			return err
		}
	}
	return nil
}

func (t *Transport) judgeEntry(l *raft.Log) error {
	switch l.Type {
	case raft.LogCommand, raft.LogNoop, raft.LogBarrier:
	case raft.LogConfiguration:
		if _, err := readConfiguration(l.Data); err != nil {
			return err
		}
	default:
		return senseless("entry %d is of type %d", l.Index, l.Type)
	}
	if t.entry == nil {
		return nil
	}
	if err := t.entry(l); err != nil {
		return fmt.Errorf("entry %d: %w", l.Index, err)
	}
	return nil
}

func judgeInstall(c *raft.InstallSnapshotRequest) error {
	if c.Size < 0 || c.LastLogIndex == 0 || c.ConfigurationIndex > c.LastLogIndex || c.SnapshotVersion != raft.SnapshotVersionMax {
		return senseless("a snapshot of %d bytes and version %d to entry %d, with the members of entry %d", c.Size, c.SnapshotVersion, c.LastLogIndex, c.ConfigurationIndex)
	}
	if err := judgeEnd(c.LastLogIndex, c.LastLogTerm, c.Term); err != nil {
		return err
	}
	_, err := readConfiguration(c.Configuration)
	return err
}

// readConfiguration is raft.DecodeConfiguration without its panic. It refuses
// configurations that the library would refuse to write.
func readConfiguration(data []byte) (c raft.Configuration, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = senseless("%v", p)
		}
	}()
	c = raft.DecodeConfiguration(data)
	voters, ids, addrs := 0, map[raft.ServerID]bool{}, map[raft.ServerAddress]bool{}
	for _, s := range c.Servers {
		if s.ID == "" || s.Address == "" || ids[s.ID] || addrs[s.Address] || s.Suffrage > raft.Staging {
			return c, senseless("a configuration with server %.80q at %.80q", s.ID, s.Address)
		}
		ids[s.ID], addrs[s.Address] = true, true
		if s.Suffrage == raft.Voter {
			voters++
		}
	}
	if voters == 0 {
		return c, senseless("a configuration without a voter")
	}
	return c, nil
}
