package identity

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"lockstep/cluster/meta"
	"lockstep/ground/durable"
)

const (
	lockFile     = "LOCK"
	identityFile = "identity.json"
	raftFolder   = "raft"
	// JournalFolder is the folder of the log that the node's shards share.
	JournalFolder = "journal"
	// UsersFile is the file with the newest users of the cluster that the node knows. It is set
	// aside with the node: the next node in the folder may belong to another cluster.
	UsersFile = "users.json"
	// SecretFile is the file with the secret of the cluster. It is set aside with the node for the
	// same reason.
	SecretFile = "cluster-secret"
)

// ErrArchitecture refuses another kind of processor: its result of a logarithm, or of a product and
// a sum in one step, may differ in the last digit, and replicas that run the same log must not
// differ.
var ErrArchitecture = errors.New("the nodes of a cluster run on one kind of processor, for others may calculate differently in the last digit; " +
	"move the data with clusterctl backup and restore")

// Folder is a node's data folder, locked.
type Folder struct {
	dir  string
	lock *os.File

	writing sync.Mutex // one change of id at a time; held while its file is written
	// id is what the file holds. Readers do not wait for the disk.
	id atomic.Pointer[Identity]
}

// Open makes the folder if it does not exist, locks it, and reads the identity in it. It refuses a
// folder that would be dangerous to use, with an error that says why.
func Open(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the data folder: %w", err)
	}
	// The folder's name must be as durable as the files in it. A process that may not read the
	// parent folder has not made this one.
	if err := durable.Sync(filepath.Dir(filepath.Clean(dir))); err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("cannot make the data folder: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, lock: lock}
	if err := f.load(); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return f, nil
}

func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot use the data folder %s: %w", dir, err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		owner := ""
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 && len(b) < 20 {
			owner = " (process " + strings.TrimSpace(string(b)) + ")"
		}
		_ = lock.Close()
		return nil, fmt.Errorf("the data folder %s is in use by another lockstepd%s; give this one another --dir", dir, owner)
	}
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("cannot lock the data folder %s: %w", dir, err)
	}
	// The process id is only for the message above: the lock holds even if it cannot be written.
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return lock, nil
}

func (f *Folder) load() error {
	path := filepath.Join(f.dir, identityFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if groups, _ := os.ReadDir(filepath.Join(f.dir, raftFolder)); len(groups) > 0 {
			return fmt.Errorf("the data folder %s holds Raft data but no %s, so it is not known whose it is; "+
				"restore the file from a backup, or move the folder away and join the node anew", f.dir, identityFile)
		}
		return nil
	}
	if err != nil {
		return err
	}
	id, err := parse(path, b)
	if err != nil {
		return err
	}
	if id.Phase == Removed {
		return fmt.Errorf("the data folder %s belongs to node %s, which is no longer part of its cluster: %s; "+
			"move the folder away to join as a new node", f.dir, id.ID(), id.Why)
	}
	if err := meta.CheckVersion(id.ClusterVersion); err != nil {
		return fmt.Errorf("the data folder %s cannot be opened by this version of lockstep: %w", f.dir, err)
	}
	if id.Architecture != Processor() {
		return fmt.Errorf("the data folder %s was made on %s, and this machine is %s: %w", f.dir, id.Architecture, Processor(), ErrArchitecture)
	}
	for _, g := range id.Groups {
		if entries, err := os.ReadDir(f.GroupDir(g)); err != nil || len(entries) == 0 {
			return fmt.Errorf("%s is missing or empty, but this node has kept a Raft group there; without it the node could vote twice; "+
				"restore the folder, or move %s away and join the node anew", f.GroupDir(g), f.dir)
		}
	}
	f.id.Store(id)
	for _, g := range id.Dropping {
		if err := f.finishDrop(g); err != nil {
			return err
		}
	}
	return nil
}

// Dir is the folder's path.
func (f *Folder) Dir() string { return f.dir }

// GroupDir is the folder of a Raft group's data.
func (f *Folder) GroupDir(group uint32) string {
	name := fmt.Sprintf("shard-%d", group)
	if group == meta.GroupID {
		name = "meta"
	}
	return filepath.Join(f.dir, raftFolder, name)
}

// GroupDirs are the folders of the Raft groups that have data here.
func (f *Folder) GroupDirs() []string {
	var dirs []string
	if id := f.Identity(); id != nil {
		for _, group := range id.Groups {
			dirs = append(dirs, f.GroupDir(group))
		}
	}
	return dirs
}

// JournalDir is the folder of the log that the node's shards share, if they share one.
func (f *Folder) JournalDir() string { return filepath.Join(f.dir, JournalFolder) }

// Identity returns the identity of the folder's node, or nil if there is none yet. Callers must not
// change it; the folder does not change it either.
func (f *Folder) Identity() *Identity { return f.id.Load() }

// CheckRecovered refuses a folder whose recovery did not finish.
func (f *Folder) CheckRecovered() error {
	if id := f.Identity(); id != nil && id.Recovering {
		return fmt.Errorf("the recovery of the data folder %s has not come to its end; run it again: clusterctl recover --dir %s --lost %s",
			f.dir, f.dir, joinIDs(id.Lost))
	}
	return nil
}

func joinIDs(ids []meta.NodeID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ",")
}

// CheckName refuses a name that is not the one the folder was made with.
func (f *Folder) CheckName(name string) error {
	if id := f.Identity(); id != nil && name != "" && id.Name != name {
		return fmt.Errorf("the data folder %s belongs to node %q, not %q; a node keeps its name: start it with --node-name %s, or give %q another --dir",
			f.dir, id.Name, name, id.Name, name)
	}
	return nil
}

// Found makes the folder belong to the first node of a new cluster.
func (f *Folder) Found(name string, creation meta.Creation) error {
	if err := f.mustBeEmpty(name); err != nil {
		return err
	}
	if err := creation.Validate(); err != nil {
		return err
	}
	return f.save(Identity{ClusterID: NewClusterID(), Name: name, Incarnation: newIncarnation(), Architecture: Processor(), Phase: Founding, Creation: &creation})
}

// BeginJoin makes the folder belong to a node that asks to join a cluster. It may be called again
// after a crash, and then keeps the incarnation.
func (f *Folder) BeginJoin(name string) error {
	if id := f.Identity(); id != nil && id.Phase == Joining {
		return f.CheckName(name)
	}
	if err := f.mustBeEmpty(name); err != nil {
		return err
	}
	return f.save(Identity{Name: name, Incarnation: newIncarnation(), Architecture: Processor(), Phase: Joining})
}

// Promised is the name of the node to which this folder's node has granted the right to found the
// cluster. It is empty if it has granted that right to no node.
func (f *Folder) Promised() string { return f.Identity().Promised }

// Promise grants the right to found the cluster to a node and records its name. The right is
// granted once.
func (f *Folder) Promise(name string) error {
	return f.change(func(id *Identity) error {
		if id.Phase != Joining || id.Promised != "" && id.Promised != name {
			return fmt.Errorf("node %s has nothing to promise to %s", id.ID(), name)
		}
		id.Promised = name
		return nil
	})
}

// Expects records how many nodes the folder's node waits for. It returns how many it waited for
// before, or 0 if it did not wait.
func (f *Folder) Expects(nodes int) (before int, err error) {
	before = f.Identity().Expect
	if before == nodes {
		return before, nil
	}
	return before, f.change(func(id *Identity) error {
		id.Expect = nodes
		return nil
	})
}

// FoundPromised turns a node that was looking for a cluster into the first node of a new one, which
// has as many nodes as it expected. The right to do so must have been promised to it.
func (f *Folder) FoundPromised(creation meta.Creation) error {
	if err := creation.Validate(); err != nil {
		return err
	}
	return f.change(func(id *Identity) error {
		if id.Phase != Joining || id.Promised != id.Name {
			return fmt.Errorf("node %s has no right to found a cluster", id.ID())
		}
		id.ClusterID, id.Phase, id.Creation, id.Awaited = NewClusterID(), Founding, &creation, id.Expect
		return nil
	})
}

// MarkComplete records that enough of the nodes that a founder awaited have come.
func (f *Folder) MarkComplete() error {
	return f.change(func(id *Identity) error {
		id.Awaited = 0
		return nil
	})
}

func (f *Folder) mustBeEmpty(name string) error {
	id := f.Identity()
	switch {
	case id == nil:
		return meta.ValidateName(name)
	case id.Phase == Joining:
		return fmt.Errorf("the data folder %s belongs to node %s, which had begun to join a cluster; "+
			"start it with --join again, or move the folder away", f.dir, id.ID())
	default:
		return fmt.Errorf("the data folder %s belongs to node %s of cluster %s", f.dir, id.ID(), id.ClusterID)
	}
}

// Joined records which cluster the node has joined.
func (f *Folder) Joined(clusterID string, creation meta.Creation) error {
	return f.change(func(id *Identity) error {
		if id.Phase != Joining {
			return fmt.Errorf("node %s is not joining", id.ID())
		}
		id.ClusterID, id.Creation, id.Phase = clusterID, &creation, Settled
		return nil
	})
}

// Started gives a start of the node its number, and returns it. The number is at least the time in
// microseconds: a folder may be set back to a copy of it, or to a volume's snapshot, and must not
// give a number again that shards remember. They would take the first writes under it for those of
// the earlier start, and answer them without running them. A clock beyond wallMaxUs is wrong and
// does not count: shards refuse numbers that are centuries ahead.
func (f *Folder) Started() (boot uint64, err error) { return f.StartedBehind(0) }

// StartedBehind is Started with a number that is also greater than other.
func (f *Folder) StartedBehind(other uint64) (boot uint64, err error) {
	err = f.change(func(id *Identity) error {
		id.Boot = nextBoot(max(id.Boot, other), time.Now())
		boot = id.Boot
		return nil
	})
	return boot, err
}

// wallMaxUs is the beginning of the year 2100, in microseconds.
const wallMaxUs = 4_102_444_800_000_000

// nextBoot returns a start's number; last is a number that it must exceed.
func nextBoot(last uint64, now time.Time) uint64 {
	if wall := now.UnixMicro(); wall > 0 && wall <= wallMaxUs {
		return max(last+1, uint64(wall))
	}
	return last + 1
}

// Opened records that a Raft group has its data on disk now. From then on a folder without that
// data is refused.
func (f *Folder) Opened(group uint32) error {
	if slices.Contains(f.Identity().Groups, group) {
		return nil
	}
	return f.change(func(id *Identity) error {
		all := append(slices.Clone(id.Groups), group)
		slices.Sort(all)
		id.Groups = slices.Compact(all)
		return nil
	})
}

// DroppedSince returns the newest going for which a group's data was deleted, or 0 if it never was.
func (f *Folder) DroppedSince(group uint32) uint64 { return f.Identity().Dropped[group] }

// Pledged returns what the last replica of a group had promised before its data was deleted.
func (f *Folder) Pledged(group uint32) Pledge {
	if id := f.Identity(); id != nil {
		return id.Pledges[group]
	}
	return Pledge{}
}

// Drop deletes the data of a group that has removed this node. It records for which going it does
// so, and which promises of the replica stay. The group must be closed. If a crash interrupts the
// deletion, the next Open completes it.
func (f *Folder) Drop(group uint32, since uint64, left Pledge) error {
	err := f.change(func(id *Identity) error {
		id.Groups = slices.DeleteFunc(slices.Clone(id.Groups), func(g uint32) bool { return g == group })
		id.Dropping = append(slices.Clone(id.Dropping), group)
		id.Dropped = maps.Clone(id.Dropped)
		if id.Dropped == nil {
			id.Dropped = map[uint32]uint64{}
		}
		id.Dropped[group] = max(id.Dropped[group], since)
		if left != (Pledge{}) {
			id.Pledges = maps.Clone(id.Pledges)
			if id.Pledges == nil {
				id.Pledges = map[uint32]Pledge{}
			}
			id.Pledges[group] = left
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.finishDrop(group)
}

// finishDrop deletes the data that Drop has recorded for deletion.
func (f *Folder) finishDrop(group uint32) error {
	if err := os.RemoveAll(f.GroupDir(group)); err != nil {
		return fmt.Errorf("cannot delete the data of a group that this node has left: %w", err)
	}
	if err := durable.Sync(filepath.Join(f.dir, raftFolder)); err != nil {
		return err
	}
	return f.change(func(id *Identity) error {
		id.Dropping = slices.DeleteFunc(slices.Clone(id.Dropping), func(g uint32) bool { return g == group })
		return nil
	})
}

// MarkFounded records that a founder has created its cluster.
func (f *Folder) MarkFounded() error {
	return f.change(func(id *Identity) error {
		if id.Phase == Founding {
			id.Phase = Settled
		}
		return nil
	})
}

// KeepLogStore records the log store of a folder that has none yet. A folder keeps the log store
// that it was made with.
func (f *Folder) KeepLogStore(kind string) error {
	if f.Identity().LogStore != "" {
		return nil
	}
	return f.change(func(id *Identity) error {
		id.LogStore = kind
		return nil
	})
}

// SawVersion records that the cluster is at a version, so that no program that does not know the
// version opens the folder.
func (f *Folder) SawVersion(version int) error {
	if id := f.Identity(); id != nil && id.ClusterVersion >= version {
		return nil
	}
	return f.change(func(id *Identity) error {
		id.ClusterVersion = max(id.ClusterVersion, version)
		return nil
	})
}

// BeginRecovery records which nodes are given up, before the first group is changed. EndRecovery
// records that all groups have been changed.
func (f *Folder) BeginRecovery(lost []meta.NodeID) error {
	return f.change(func(id *Identity) error {
		all := append(slices.Clone(id.Lost), lost...)
		slices.Sort(all)
		id.Lost, id.Recovering = slices.Compact(all), true
		return nil
	})
}

// EndRecovery allows the folder to be used again. The node stops waiting for nodes: the operator
// has said which nodes go on.
func (f *Folder) EndRecovery() error {
	return f.change(func(id *Identity) error {
		id.Recovering, id.Awaited = false, 0
		return nil
	})
}

// MarkRemoved records that the cluster has removed the node. From then on the folder is refused,
// with the reason why.
func (f *Folder) MarkRemoved(why string) error {
	return f.change(func(id *Identity) error {
		id.Phase, id.Why = Removed, why
		return nil
	})
}

// Close frees the lock.
func (f *Folder) Close() error { return f.lock.Close() }

// change writes a changed copy of the identity.
func (f *Folder) change(with func(*Identity) error) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	id := f.id.Load()
	if id == nil {
		return fmt.Errorf("the data folder %s belongs to nobody yet", f.dir)
	}
	next := *id
	if err := with(&next); err != nil {
		return err
	}
	return f.saveLocked(next)
}

func (f *Folder) save(id Identity) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.saveLocked(id)
}

// saveLocked makes id durable, then current. f.writing must be held.
func (f *Folder) saveLocked(id Identity) error {
	id.Format = formatVersion
	b, err := json.MarshalIndent(&id, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(f.dir, identityFile), append(b, '\n')); err != nil {
		return fmt.Errorf("cannot write the node's identity: %w", err)
	}
	f.id.Store(&id)
	return nil
}

// replaceFile replaces a file so that after a crash either the old or the new one is there.
func replaceFile(path string, b []byte) error {
	tmp := path + ".tmp"
	file, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(path))
}

// NewClusterID draws a cluster's id.
func NewClusterID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// NewSeeds draws one hash seed per shard.
func NewSeeds(shards int) []meta.HashSeed {
	seeds := make([]meta.HashSeed, shards)
	for i := range seeds {
		_, _ = rand.Read(seeds[i][:])
	}
	return seeds
}

func newIncarnation() uint64 {
	var b [8]byte
	for {
		_, _ = rand.Read(b[:])
		if n := binary.LittleEndian.Uint64(b[:]); n != 0 {
			return n
		}
	}
}
