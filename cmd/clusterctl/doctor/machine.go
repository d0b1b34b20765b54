package doctor

import (
	"fmt"
	"slices"

	"lockstep/cluster/clock"
	"lockstep/node/status"
)

// Limits for the machines.
const (
	// syncSlowUs and syncIllUs are limits for the second slowest of the trial writes: every write
	// of a client waits for a similar one.
	syncSlowUs = 20_000
	syncIllUs  = 200_000
	// diskRiskPart and diskIllPart are limits for the free part of the file system.
	diskRiskPart = 0.15
	diskIllPart  = 0.05
	diskIllBytes = 512 << 20
	// clockRiskMs is how far apart clocks may be if no node reports a limit.
	clockRiskMs = 500
	// filesSpare is how many files a node needs besides its clients.
	filesSpare = 128
	// backlogMin is the least length of the queue of connections not yet accepted.
	backlogMin = 511
	// memoryPart is the part of the memory that the data may take: snapshots, buffers and the
	// runtime need the rest.
	memoryPart = 0.75
	// memoryFullPart is the part of maxmemory that the data may fill.
	memoryFullPart = 0.95
)

// diskSync checks how long a write to the disk takes.
func (e *exam) diskSync(check string) {
	e.each(func(h *status.Host) {
		if len(h.SyncUs) == 0 {
			e.find(Ill, check, h.Name, "a file in the data folder could not be written", "look at the node's log and at its disk")
			return
		}
		typical, slow := h.SyncUs[len(h.SyncUs)/2], h.SyncUs[max(0, len(h.SyncUs)-2)]
		what := fmt.Sprintf("a write takes %s until it is on disk, %s at worst", msText(typical), msText(slow))
		switch {
		case slow >= syncIllUs:
			e.find(Ill, check, h.Name, what, "give the data folder a disk of its own that syncs faster; every write waits for it")
		case slow >= syncSlowUs:
			e.find(Risk, check, h.Name, what, "give the data folder a faster disk, or find out what else is busy on this one")
		}
	})
}

func msText(us int64) string { return fmt.Sprintf("%.1f ms", float64(us)/1000) }

func (e *exam) diskSpace(check string) {
	e.each(func(h *status.Host) {
		if h.DiskBytes <= 0 {
			return
		}
		part := float64(h.DiskFreeBytes) / float64(h.DiskBytes)
		what := fmt.Sprintf("%d MB (%.0f%%) are free on the data folder's disk", h.DiskFreeBytes>>20, 100*part)
		do := "free or add space; a node whose disk is full ends"
		switch {
		case part < diskIllPart || h.DiskFreeBytes < diskIllBytes:
			e.find(Ill, check, h.Name, what, do)
		case part < diskRiskPart:
			e.find(Risk, check, h.Name, what, do)
		}
	})
}

// clock compares clocks as the nodes themselves do: each with the clocks of a majority of the
// nodes. If no majority agrees, it reports how far apart the clocks are.
func (e *exam) clock(check string) {
	const synchronise = "synchronise the clocks (chrony, systemd-timesyncd)"
	us := func(ms float64) int64 { return int64(ms * 1000) }
	var said []clock.Reading
	nodes, first, last := 0, status.Host{}, status.Host{}
	for i := range e.hosts {
		h := &e.hosts[i]
		if e.isLearner(h.ID) {
			continue
		}
		if nodes++; !h.Reachable {
			continue
		}
		if len(said) == 0 || h.AheadMs < first.AheadMs {
			first = *h
		}
		if len(said) == 0 || h.AheadMs > last.AheadMs {
			last = *h
		}
		said = append(said, clock.Reading{LeastUs: us(h.AheadMs - h.UnsureMs), MostUs: us(h.AheadMs + h.UnsureMs)})
	}
	least, most := clock.Majority(nodes, said)
	limit, found := e.clockLimitMs(), false
	e.each(func(h *status.Host) {
		off := clock.Away(us(h.AheadMs), least, most)
		if off = off / 1000; max(off, -off)-int64(h.UnsureMs) > limit {
			found = true
			e.find(Risk, check, h.Name, fmt.Sprintf("its clock is %d ms off what most nodes say (give or take %.0f): it leads shards only where no other node can", off, h.UnsureMs), synchronise)
		}
	})
	unsure := first.UnsureMs + last.UnsureMs
	if apart := last.AheadMs - first.AheadMs; !found && apart-unsure > float64(limit) {
		e.find(Risk, check, "", fmt.Sprintf("the clock of %s is %.0f ms ahead of that of %s (give or take %.0f), and no majority says which one is wrong", last.Name, apart, first.Name, unsure), synchronise)
	}
}

// isLearner reports whether a node has no vote.
func (e *exam) isLearner(id string) bool {
	return slices.ContainsFunc(e.cluster.Nodes, func(n status.Node) bool { return n.ID == id && n.Learner })
}

// clockLimitMs is how far a clock may be off, by the setting of the nodes.
func (e *exam) clockLimitMs() int64 {
	for i := range e.cluster.Nodes {
		if limit := e.cluster.Nodes[i].ClockLimitMs; limit > 0 {
			return limit
		}
	}
	return clockRiskMs
}

// logClock checks the time of day of each shard, as its leader reports it. Normally it follows the
// clocks of a majority of the shard's voters within seconds.
func (e *exam) logClock(check string) {
	limit := float64(e.clockLimitMs())
	for i := range e.cluster.Nodes {
		n := &e.cluster.Nodes[i]
		for _, g := range n.Groups {
			title := status.GroupTitle(g.Name)
			const adopt = "wait some seconds: it is set by itself; if it is not: clusterctl clock adopt"
			switch {
			case g.ClockUnknown:
				e.find(Risk, check, n.Name, fmt.Sprintf("too few of the voters of %s have told this leader what their clocks show", title), "mend the network between the nodes")
			case g.ClockAheadMs > limit:
				e.find(Risk, check, n.Name, fmt.Sprintf("the time of day of %s is %.0f ms ahead of what most of its voters say: keys that expire at a time of day expire that much too early", title, g.ClockAheadMs), adopt)
			case g.ClockAheadMs < -limit:
				e.find(Risk, check, n.Name, fmt.Sprintf("the time of day of %s is %.0f ms behind what most of its voters say: keys that expire at a time of day stay that much too long", title, -g.ClockAheadMs), adopt)
			}
		}
	}
}

// files checks the limit of open files.
func (e *exam) files(check string) {
	e.each(func(h *status.Host) {
		if h.Files < 0 {
			return
		}
		if want := h.MaxClients + filesSpare; h.Files < want {
			e.find(Risk, check, h.Name, fmt.Sprintf("may open %d files, and maxclients %d needs %d", h.Files, h.MaxClients, want),
				fmt.Sprintf("raise the limit (ulimit -n, LimitNOFILE=) to %d, or lower maxclients", want))
		}
	})
}

// memory checks whether the data can outgrow the machine or the container.
func (e *exam) memory(check string) {
	e.each(func(h *status.Host) {
		switch {
		case h.MemoryBytes <= 0:
		case h.MaxMemoryBytes == 0:
			e.find(Advice, check, h.Name, "maxmemory is not set: data that outgrows the memory ends the node",
				fmt.Sprintf("CONFIG SET maxmemory, to %d MB or less for this node", int64(memoryPart*float64(h.MemoryBytes))>>20))
		case float64(h.MaxMemoryBytes) > memoryPart*float64(h.MemoryBytes):
			e.find(Risk, check, h.Name, fmt.Sprintf("maxmemory is %d MB of the %d MB that the process may take", h.MaxMemoryBytes>>20, h.MemoryBytes>>20),
				fmt.Sprintf("set it to %d MB or less", int64(memoryPart*float64(h.MemoryBytes))>>20))
		}
		if used := e.usedBytes(h.ID); h.MaxMemoryBytes > 0 && float64(used) > memoryFullPart*float64(h.MaxMemoryBytes) {
			e.find(Risk, check, h.Name, fmt.Sprintf("its data takes %d%% of maxmemory: beyond it writes are refused, or keys evicted", 100*used/h.MaxMemoryBytes),
				"delete, let keys expire, or raise maxmemory (and the machine's memory with it)")
		}
	})
}

// usedBytes is the memory of a node's keys and values.
func (e *exam) usedBytes(id string) int64 {
	for i := range e.cluster.Nodes {
		if e.cluster.Nodes[i].ID == id {
			return e.cluster.Nodes[i].UsedBytes
		}
	}
	return 0
}

// kernel checks settings of the machine.
func (e *exam) kernel(check string) {
	e.each(func(h *status.Host) {
		if h.Overcommit == 2 {
			e.find(Advice, check, h.Name, "vm.overcommit_memory is 2: reserving address space for the log may fail",
				"sysctl vm.overcommit_memory=0")
		}
		if h.HugePages == "always" {
			e.find(Advice, check, h.Name, "transparent huge pages are always on: memory use grows and pauses occur",
				"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
		}
		if h.Backlog >= 0 && h.Backlog < backlogMin {
			e.find(Advice, check, h.Name, fmt.Sprintf("net.core.somaxconn is %d: many clients that connect at one time are turned away", h.Backlog),
				"sysctl net.core.somaxconn=4096")
		}
	})
}
