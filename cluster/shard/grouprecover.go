package shard

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
	"lockstep/fsm"
)

// GroupState is the contents of the folder of a replica that does not run.
type GroupState struct {
	// LastIndex and LastTerm belong to the last entry, committed or not.
	LastIndex, LastTerm uint64
	Members             []Member
}

// ReadGroup reads the folder of a replica that does not run. If cfg has a state machine,
// it is brought to the state after the last entry.
func ReadGroup(cfg GroupConfig) (GroupState, error) {
	stores, err := openStopped(&cfg)
	if err != nil {
		return GroupState{}, err
	}
	defer stores.Close()
	state, err := readAll(stores, cfg.SM)
	if err != nil {
		return state, fmt.Errorf("group %d: %w", cfg.ID, err)
	}
	for _, s := range stores.Configurations.Latest().Servers {
		state.Members = append(state.Members, Member{s.ID, s.Address, s.Suffrage == raft.Voter})
	}
	return state, nil
}

// openStopped opens a group's files while no node runs.
func openStopped(cfg *GroupConfig) (*raftio.Stores, error) {
	if !raftio.HasState(cfg.Dir) {
		return nil, fmt.Errorf("group %d: there is no replica in %s", cfg.ID, cfg.Dir)
	}
	log := raftio.NewLogger(cfg.Log, fmt.Sprintf("raft.%d", cfg.ID))
	stores, err := raftio.OpenStores(&raftio.StoresConfig{Dir: cfg.Dir, Kind: cfg.LogStore, Journal: cfg.Journal, Group: cfg.ID, Log: log, Guards: raftio.Guards{
		Verify: func(l *raft.Log) error {
			if cfg.Verify == nil {
				return nil
			}
			return cfg.Verify(l.Data)
		},
		StallLimit: recoverStall, Fatal: cfg.Fatal,
	}})
	if err != nil {
		return nil, fmt.Errorf("group %d: %w", cfg.ID, err)
	}
	return stores, nil
}

// recoverStall is how long one access to a disk may take while no client waits for an
// answer.
const recoverStall = 2 * stallMin

// readAll reads the newest snapshot and all entries after it.
func readAll(stores *raftio.Stores, sm StateMachine) (GroupState, error) {
	var state GroupState
	snapshots, err := stores.Snapshots.List()
	if err != nil {
		return state, err
	}
	if len(snapshots) > 0 {
		newest := snapshots[0]
		state.LastIndex, state.LastTerm = newest.Index, newest.Term
		if err := restore(stores, newest.ID, sm); err != nil {
			return state, err
		}
	}
	last, err := stores.Log.LastIndex()
	if err != nil {
		return state, err
	}
	for i := state.LastIndex + 1; i <= last; i++ {
		var l raft.Log
		if err := stores.Log.GetLog(i, &l); err != nil {
			return state, fmt.Errorf("entry %d: %w", i, err)
		}
		state.LastIndex, state.LastTerm = l.Index, l.Term
		if sm != nil && l.Type == raft.LogCommand {
			if err := sm.Apply(l.Index, l.Data); err != nil {
				return state, fmt.Errorf("entry %d: %w", i, err)
			}
		}
	}
	return state, nil
}

func restore(stores *raftio.Stores, id string, sm StateMachine) error {
	if sm == nil {
		return nil
	}
	_, r, err := stores.Snapshots.Open(id)
	if err != nil {
		return err
	}
	return errors.Join(sm.Restore(r), r.Close())
}

// RecoverGroup gives the replica in a folder that no node uses other servers, without
// asking the other replicas: entries that they had and this replica lacks are given up.
// The state after the last entry, committed or not, becomes a snapshot. finish may change
// the state once more before it is written. It may be nil. If RecoverGroup was
// interrupted it may be run again.
//
// The recovered group starts a new era: its terms and indexes are above all that the lost
// nodes can have reached, because nodes that were not stopped have learned of those. Such
// a node would take a leader of a lower term for an old one, and its log for one that
// lacks entries which clients have seen.
func RecoverGroup(cfg GroupConfig, servers []Member, finish func() error) error {
	stores, err := openStopped(&cfg)
	if err != nil {
		return err
	}
	defer stores.Close()
	// RecoverCluster must not silently skip what Raft does not read: an older snapshot
	// than the newest would be a loss.
	if _, err := readAll(stores, nil); err != nil {
		return fmt.Errorf("group %d: %w", cfg.ID, err)
	}
	var configuration raft.Configuration
	for _, m := range servers {
		suffrage := raft.Nonvoter
		if m.Voter {
			suffrage = raft.Voter
		}
		configuration.Servers = append(configuration.Servers, raft.Server{ID: m.ID, Address: m.Addr, Suffrage: suffrage})
	}
	var failed error
	front := &machineFSM{
		sm: finishing{cfg.SM, finish}, writing: cfg.writing, counts: &GroupCounts{},
		fatal: func(err error) { failed = errors.Join(failed, err) },
	}
	_, trans := raft.NewInmemTransport(cfg.LocalAddr)
	defer trans.Close()
	log := raftio.NewLogger(cfg.Log, fmt.Sprintf("raft.%d", cfg.ID))
	// This comes first: once the snapshot, which names the servers, is there, the group
	// does not look as if there were anything left to do.
	if err = raiseTerm(stores.Stable); err == nil {
		err = raft.RecoverCluster(raftConfig(&cfg, nil, log), front, stores.Log, stores.Stable, nextEra{stores.Snapshots}, trans, configuration)
	}
	if err = errors.Join(failed, err); err != nil {
		return fmt.Errorf("group %d: %w", cfg.ID, err)
	}
	return nil
}

// eraTerms and eraEntries are more than the lost nodes can have been ahead. They are the
// same for all remaining nodes, so that the most advanced of them stays ahead.
const (
	eraTerms   = 1 << 20
	eraEntries = 1 << 40
)

// nextEra is the snapshot store of a group that is recovered. The snapshot that is made
// ends eraEntries later. It keeps the term of the last entry, by which the remaining
// nodes choose their leader.
type nextEra struct{ raft.SnapshotStore }

// Create implements raft.SnapshotStore.
func (e nextEra) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	return e.SnapshotStore.Create(version, index+eraEntries, term, c, configurationIndex, trans)
}

// keyTerm is the key under which the library keeps the current term.
var keyTerm = []byte("CurrentTerm")

// raiseTerm makes a replica that does not run continue in a later term.
func raiseTerm(stable raft.StableStore) error {
	term, err := stable.GetUint64(keyTerm)
	if err != nil {
		return fmt.Errorf("the current term: %w", err)
	}
	return stable.SetUint64(keyTerm, term+eraTerms)
}

// finishing is a state machine whose state is changed once more before it
// becomes a snapshot.
type finishing struct {
	sm     StateMachine
	finish func() error
}

// Apply implements StateMachine.
func (f finishing) Apply(index uint64, data []byte) error { return f.sm.Apply(index, data) }

// Restore implements StateMachine.
func (f finishing) Restore(r io.Reader) error { return f.sm.Restore(r) }

// Snapshot implements StateMachine.
func (f finishing) Snapshot() (Snapshot, error) {
	if f.finish != nil {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	return f.sm.Snapshot()
}

// RecoverShard is RecoverGroup for a shard. machine must be new. Afterwards it shows the
// recovered state.
func RecoverShard(cfg GroupConfig, machine *fsm.Machine, servers []Member) error {
	cfg.SM = machineAdapter{machine}
	cfg.Verify = func(data []byte) error { return fsm.CheckEntry(cfg.ID, data) }
	return RecoverGroup(cfg, servers, nil)
}
