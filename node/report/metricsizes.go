package report

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockstep/cluster/meta/identity"
	"lockstep/cluster/raftio"
	"lockstep/engine/sched"
	"lockstep/node/metrics"
)

// dataKinds are the kinds of files in a data folder.
var dataKinds = []string{"log", "snapshots", "votes", "other"}

// dataKind is the kind of a file of the data folder, by its path in the folder.
func dataKind(path string) string {
	for _, part := range strings.Split(path, string(filepath.Separator)) {
		switch part {
		case raftio.SnapshotsDir:
			return "snapshots"
		case raftio.BoltFile, raftio.WALDir, identity.JournalFolder:
			return "log"
		case raftio.StableFile:
			return "votes"
		}
	}
	return "other"
}

// dataSizes is how much disk space the files of a folder take, by kind. Files that are deleted
// meanwhile are left out.
func dataSizes(dir string) map[string]int64 {
	sizes := map[string]int64{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		size := info.Size()
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			size = s.Blocks * 512
		}
		if inside, err := filepath.Rel(dir, path); err == nil {
			sizes[dataKind(inside)] += size
		}
		return nil
	})
	return sizes
}

func readDataSizes(l *look, p *metrics.Page) {
	sizes := dataSizes(l.Folder.Dir())
	for _, kind := range dataKinds {
		p.Add(float64(sizes[kind]), kind)
	}
}

// readRoundTrips writes one value for each node, from the newest link to it.
func readRoundTrips(l *look, p *metrics.Page) {
	took := map[string]time.Duration{}
	var names []string
	for _, link := range l.Transport.Links() {
		node, known := l.cluster.ByPeerAddr(link.Addr)
		if !link.Outgoing || !known || link.RoundTrip == 0 {
			continue
		}
		if took[node.Name] == 0 {
			names = append(names, node.Name)
		}
		took[node.Name] = link.RoundTrip
	}
	slices.Sort(names)
	for _, name := range names {
		p.Add(took[name].Seconds(), name)
	}
}

func readLockWaits(l *look, p *metrics.Page) {
	var all sched.WaitClasses
	s := metrics.Snapshot{}
	l.eachShard(func(g *groupLook, _ ...string) {
		for class, n := range g.sched.Waits {
			all[class] += n
		}
		s.Sum += time.Duration(g.sched.WaitNs).Seconds()
	})
	for class, n := range all {
		s.Count += n
		if class < len(all)-1 {
			s.Bounds = append(s.Bounds, time.Duration(sched.WaitBoundNs(class)).Seconds())
			s.Cumulated = append(s.Cumulated, s.Count)
		}
	}
	p.AddHistogram(s)
}
