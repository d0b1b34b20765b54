// Package recovery repairs the data folder of a stopped node so that it can go on without nodes
// that are lost for good.
//
// It is for a cluster that has too few nodes left to agree on anything. It reads the folder,
// reports what would be lost, and makes the remaining members of each stuck group its only members.
// No node runs meanwhile: clusterctl calls this package, and package node does not. If a recovery
// is interrupted, a mark in the folder keeps the node from starting until the recovery was repeated
// and has finished.
package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/raftio"
	"lockstep/cluster/shard"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/node/member"
	"lockstep/node/status"
)

// Recovery is a locked folder and the plan for it. In each group in which the lost nodes have the
// majority, the remaining nodes become the only members. The meta group's state then lists the lost
// nodes as removed. The cluster keeps its id.
type Recovery struct {
	Cluster string `json:"cluster_id"`
	Node    string `json:"node"`
	// Lost are the nodes to be given up. Others are the nodes that remain beside this one; their
	// folders must be recovered in the same way.
	Lost   []Node  `json:"lost"`
	Others []Node  `json:"others,omitempty"`
	Groups []Group `json:"groups"`

	folder *identity.Folder
	// journal is the log that the node's shards share. It is nil if each shard has its own.
	journal *raftio.Journal
	log     *slog.Logger
	failed  atomic.Pointer[error]
}

// Node is one node of the cluster.
type Node struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	PeerAddr   string `json:"peer_addr"`
	ClientAddr string `json:"client_addr"`
}

// Group is one Raft group with a replica in the folder.
type Group struct {
	// Name is "meta" or the shard's number.
	Name string `json:"name"`
	// LastIndex and LastTerm are those of the last entry of this node's replica.
	LastIndex uint64 `json:"last_index"`
	LastTerm  uint64 `json:"last_term"`
	// Voters is the number of voters of the group, Lost how many of them are lost.
	Voters int `json:"voters"`
	Lost   int `json:"lost"`
	// Stuck means that the group has no quorum without the lost nodes.
	Stuck bool `json:"stuck"`
	// LastWriteMs is the time of the last entry, in Unix time, once the group has been recovered.
	// It is 0 for the meta group.
	LastWriteMs int64 `json:"last_write_ms,omitempty"`

	id      uint32
	members []shard.Member
}

// Plan locks and reads a folder and reports what a recovery without some nodes, given by name or
// id, would do. Close releases the folder.
func Plan(dir string, lost []string, log *slog.Logger) (*Recovery, error) {
	folder, err := identity.Open(dir)
	if err != nil {
		return nil, err
	}
	r := &Recovery{folder: folder, log: log}
	if err := errors.Join(r.openJournal(), r.plan(lost)); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// Close releases the folder, and gives new files in it to the folder's owner.
func (r *Recovery) Close() error {
	var err error
	if r.journal != nil {
		err = r.journal.Close()
	}
	return errors.Join(err, giveToOwner(r.folder.Dir()), r.folder.Close())
}

// giveToOwner gives all files in a folder to the folder's owner if the process runs as root.
// Otherwise the node could not write to files that root has made there.
func giveToOwner(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	owner := &syscall.Stat_t{}
	if err := syscall.Stat(dir, owner); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if has, ok := info.Sys().(*syscall.Stat_t); ok && has.Uid == owner.Uid && has.Gid == owner.Gid {
			return nil
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
}

func (r *Recovery) openJournal() (err error) {
	dir := r.folder.JournalDir()
	if raftio.HasJournal(dir) {
		r.journal, err = raftio.OpenJournal(dir, r.folder.Identity().LogStore, r.folder.GroupDirs(), r.fail, raftio.NewLogger(r.log, "journal"))
	}
	return err
}

// fail records an error of the disk.
func (r *Recovery) fail(err error) { r.failed.CompareAndSwap(nil, &err) }

func (r *Recovery) plan(lost []string) error {
	id := r.folder.Identity()
	if id == nil || id.Phase != identity.Settled {
		return fmt.Errorf("there is no node of a cluster in %s", r.folder.Dir())
	}
	r.Cluster, r.Node = id.ClusterID, string(id.ID())
	machine := meta.NewMachine()
	cfg := r.groupConfig(meta.GroupID)
	cfg.SM = member.MetaMachine{Machine: machine}
	if _, err := shard.ReadGroup(cfg); err != nil {
		return err
	}
	if err := r.sortNodes(machine.View(), lost); err != nil {
		return err
	}
	for _, g := range id.Groups {
		found, err := shard.ReadGroup(r.groupConfig(g))
		if err != nil {
			return err
		}
		if err := r.forgotten(found); err != nil {
			return err
		}
		r.Groups = append(r.Groups, r.assess(g, found))
	}
	return r.failure()
}

// sortNodes splits the nodes into lost and remaining ones.
func (r *Recovery) sortNodes(view *meta.View, lost []string) error {
	own := r.folder.Identity()
	var ids []meta.NodeID
	for _, name := range lost {
		n, ok := view.Lookup(name)
		if !ok {
			n, ok = view.Node(meta.NodeID(name))
		}
		for _, id := range own.Lost { // An interrupted recovery may already have marked it as removed.
			if gone, known := view.Node(id); !ok && known && gone.Name == name {
				n, ok = gone, true
			}
		}
		switch {
		case !ok:
			return fmt.Errorf("the cluster has no node %q", name)
		case n.ID == own.ID():
			return fmt.Errorf("%s is the node of this folder; recover what remains from a node that is not lost", name)
		case !slices.Contains(ids, n.ID):
			ids = append(ids, n.ID)
			r.Lost = append(r.Lost, Node{string(n.ID), n.Name, n.PeerAddr, n.ClientAddr})
		}
	}
	if len(ids) == 0 {
		return fmt.Errorf("no lost node is named")
	}
	for _, s := range view.Shards {
		if len(s.Replicas) > 0 && !slices.ContainsFunc(s.Replicas, func(id meta.NodeID) bool { return !slices.Contains(ids, id) }) {
			return fmt.Errorf("every replica of shard %d is lost, and with them its keys; no folder of another node has them", s.ID)
		}
	}
	for _, n := range view.Nodes {
		if n.ID != own.ID() && !slices.Contains(ids, n.ID) {
			r.Others = append(r.Others, Node{string(n.ID), n.Name, n.PeerAddr, n.ClientAddr})
		}
	}
	return nil
}

// forgotten refuses a recovery that names fewer nodes than the interrupted one. Otherwise a group
// that was not recovered yet would count an unnamed node into its quorum, and wait for it for ever.
func (r *Recovery) forgotten(found shard.GroupState) error {
	own := r.folder.Identity()
	for _, m := range found.Members {
		named := slices.ContainsFunc(r.Lost, func(n Node) bool { return n.ID == string(m.ID) })
		if own.Recovering && m.Voter && !named && slices.Contains(own.Lost, meta.NodeID(m.ID)) {
			return fmt.Errorf("the recovery of this folder was begun without %s, too; name all that were lost then", m.ID)
		}
	}
	return nil
}

// assess decides whether a group can go on by itself.
func (r *Recovery) assess(id uint32, found shard.GroupState) Group {
	g := Group{Name: member.GroupName(id), LastIndex: found.LastIndex, LastTerm: found.LastTerm, id: id}
	for _, m := range found.Members {
		gone := slices.ContainsFunc(r.Lost, func(n Node) bool { return n.ID == string(m.ID) })
		if m.Voter {
			g.Voters++
			if gone {
				g.Lost++
			}
		}
		if !gone {
			g.members = append(g.members, m)
		}
	}
	// A replica that its leader has not filled yet knows no voters, and has no data to go on with.
	g.Stuck = g.Voters > 0 && g.Voters-g.Lost < g.Voters/2+1
	if g.Stuck && g.Voters == g.Lost {
		// Only learners are left, as far as this node knows. All of them become voters: if only
		// this one did, each remaining node would lead a group of its own.
		for i := range g.members {
			g.members[i].Voter = true
		}
	}
	return g
}

// Stuck are the groups that need a recovery.
func (r *Recovery) Stuck() []*Group {
	var stuck []*Group
	for i := range r.Groups {
		if r.Groups[i].Stuck {
			stuck = append(stuck, &r.Groups[i])
		}
	}
	return stuck
}

// Begun reports whether a recovery of the folder was started and has not finished. The node does
// not start until it has, even if no group is stuck any more.
func (r *Recovery) Begun() bool { return r.folder.Identity().Recovering }

// Run recovers every stuck group. If it is interrupted, the node refuses to start until Run was
// repeated and has finished.
func (r *Recovery) Run() error {
	lost := make([]meta.NodeID, len(r.Lost))
	for i, n := range r.Lost {
		lost[i] = meta.NodeID(n.ID)
	}
	if err := r.folder.BeginRecovery(lost); err != nil {
		return err
	}
	for _, g := range r.Stuck() {
		if err := r.recover(g, lost); err != nil {
			return err
		}
	}
	if err := r.failure(); err != nil {
		return err
	}
	return r.folder.EndRecovery()
}

// failure is the first error of the disk, or nil.
func (r *Recovery) failure() error {
	if err := r.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (r *Recovery) recover(g *Group, lost []meta.NodeID) error {
	cfg := r.groupConfig(g.id)
	if g.id == meta.GroupID {
		machine := meta.NewMachine()
		cfg.SM = member.MetaMachine{Machine: machine}
		return shard.RecoverGroup(cfg, g.members, func() error { return machine.GiveUp(lost) })
	}
	machine := r.machine(g.id)
	defer machine.Close()
	err := shard.RecoverShard(cfg, machine, g.members)
	g.LastWriteMs = machine.DayMs()
	return err
}

// machine is an empty machine of a shard. It has the configuration that the replicas had, so that
// the log has the same effect.
func (r *Recovery) machine(group uint32) *fsm.Machine {
	cfg := member.MachineConfig(r.folder.Identity().Creation, group)
	cfg.Sched = sched.Config{Permits: recoverPermits, NowNs: func() int64 { return time.Now().UnixNano() }}
	return fsm.New(cfg)
}

// recoverPermits is how many commands run in parallel while a log is replayed.
const recoverPermits = 8

func (r *Recovery) groupConfig(group uint32) shard.GroupConfig {
	id := r.folder.Identity()
	journal := r.journal
	if group == meta.GroupID {
		journal = nil
	}
	return shard.GroupConfig{
		Journal: journal,
		ID:      group, Dir: r.folder.GroupDir(group), LogStore: id.LogStore, LocalID: raft.ServerID(id.ID()), LocalAddr: raft.ServerAddress(id.ID()),
		HeartbeatMs: id.Creation.HeartbeatMs, ElectionMs: id.Creation.ElectionMs,
		SnapshotEntries: 1 << 20, Log: r.log, Fatal: r.fail,
	}
}

// Warnings are texts on what will be lost, and what the operator must check.
func (r *Recovery) Warnings() []string {
	var said []string
	for _, g := range r.Stuck() {
		what := "membership, settings and addresses that were changed"
		if g.Name != "meta" {
			what = "writes that were acknowledged"
		}
		said = append(said, fmt.Sprintf("%s: %d of %d voters are lost. This node has it up to entry %d (term %d); %s after that are gone for good.",
			status.GroupTitle(g.Name), g.Lost, g.Voters, g.LastIndex, g.LastTerm, what))
		if g.Voters == g.Lost {
			said = append(said, status.GroupTitle(g.Name)+": this node is a learner of it and may be far behind.")
		}
	}
	said = append(said, "Writes that clients were told may or may not have happened can turn out either way.",
		"The lost nodes' data folders must never be used again: "+strings.Join(namesOf(r.Lost), ", ")+". If one of them comes back, it is refused as soon as it meets a node of this cluster.")
	if len(r.Others) > 0 {
		said = append(said, "The same must be done, with the same --lost, to the folders of the other nodes that remain, before any of them is started: "+strings.Join(namesOf(r.Others), ", ")+".")
	}
	return said
}

func namesOf(nodes []Node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	return names
}
