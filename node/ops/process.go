package ops

import (
	"errors"
	"fmt"
	"time"

	"lockstep/node/member"
)

// ErrShutdown ends a node on SHUTDOWN.
var ErrShutdown = errors.New("told to shut down")

// Process is the admin.Process of a node. It executes DEBUG, SAVE, BGSAVE, LASTSAVE and SHUTDOWN.
type Process struct {
	*member.Member
	Saves Saves
	// Die ends the node with a reason.
	Die func(error)
}

// NewProcess returns the Process of a node. The data counts as saved at the start, because it is in
// the log.
func NewProcess(m *member.Member, die func(error)) *Process {
	p := &Process{Member: m, Die: die}
	p.Saves.last.Store(m.Started.Unix())
	return p
}

// State reports on SAVE and BGSAVE.
func (p *Process) State() Saved { return p.Saves.State() }

// SetActiveExpire implements admin.Process.
func (p *Process) SetActiveExpire(on bool) {
	for _, s := range p.Shards() {
		s.SetActiveExpire(on)
	}
}

// Reload implements admin.Process.
func (p *Process) Reload() error {
	for _, s := range p.Shards() {
		if err := s.Reload(); err != nil {
			return fmt.Errorf("shard %d: %w", s.ID(), err)
		}
	}
	return nil
}

// BeginSnapshot implements admin.Process.
func (p *Process) BeginSnapshot(background bool) (write func() error, err error) {
	done, err := p.Saves.start(p.LoggedTxns(), background)
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := p.TakeSnapshots()
		done(err)
		if err == nil {
			p.Saves.last.Store(time.Now().Unix())
		}
		return err
	}, nil
}

// LastSnapshotUnix implements admin.Process.
func (p *Process) LastSnapshotUnix() int64 { return p.Saves.LastSnapshotUnix() }

// Shutdown implements admin.Process: the node drains and stops.
func (p *Process) Shutdown() { p.Die(ErrShutdown) }

// TakeSnapshots writes a snapshot of each group of this node, and returns a text about that.
func (p *Process) TakeSnapshots() (string, error) {
	all := p.Shards()
	for _, s := range all {
		if err := s.Group().TakeSnapshot(); err != nil {
			return "", fmt.Errorf("shard %d: %w", s.ID(), err)
		}
	}
	if err := p.MetaGroup.TakeSnapshot(); err != nil {
		return "", fmt.Errorf("the meta group: %w", err)
	}
	return fmt.Sprintf("the snapshots of this node were written out: the meta group's and those of its shards (%d)", len(all)), nil
}

// LoggedTxns is the number of txns that this node's replicas have taken from their logs since the
// node started.
func (p *Process) LoggedTxns() uint64 {
	var sum uint64
	for _, s := range p.Shards() {
		sum += uint64(s.Machine().Counters().Txns.Load())
	}
	return sum
}
