package page

import (
	"cmp"
	"slices"
)

// NodeReport is a node's report on itself, in addition to its status. Fields are only ever added, because
// nodes of other versions read it.
type NodeReport struct {
	ID string `json:"id"`
	// NowMs is the node's clock, in Unix time.
	NowMs int64 `json:"now_ms"`
	// DiskFreeBytes and DiskBytes describe the data folder's file system, 0 if unknown. MemoryBytes
	// is how much memory the process may take. MaxMemoryBytes is the setting, 0 if there is no
	// limit.
	DiskFreeBytes  int64 `json:"disk_free_bytes"`
	DiskBytes      int64 `json:"disk_bytes"`
	MemoryBytes    int64 `json:"memory_bytes"`
	MaxMemoryBytes int64 `json:"maxmemory_bytes"`
	// DiskSlow means that recent syncs of the log took too long. Unknown is how many recent calls
	// ended with an unknown outcome.
	DiskSlow bool  `json:"disk_slow,omitempty"`
	Unknown  int64 `json:"unknown,omitempty"`
	// Led are the groups that the node leads. Locks and Hot are about these groups.
	Led     []Led    `json:"led,omitempty"`
	Locks   []Lock   `json:"locks,omitempty"`
	Hot     []Hot    `json:"hot,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// Series is set only if the request asked for it; then the other fields are empty.
	Series *Series `json:"series,omitempty"`
}

// Led is a group as its leader sees it.
type Led struct {
	Group string `json:"group"`
	Term  uint64 `json:"term"`
	// Answering is how many voters have recently acknowledged the leader, including itself.
	Voters    int `json:"voters"`
	Answering int `json:"answering"`
	// Keys is the number of keys of a shard.
	Keys int64 `json:"keys,omitempty"`
}

// Lock is a lock slot that is currently held or waited for.
type Lock struct {
	Shard int `json:"shard"`
	// Slot is -1 for the lock of the whole shard.
	Slot int    `json:"slot"`
	Mode string `json:"mode"`
	// Holders is the number of holders, and HeldBy lists their commands where they are known.
	Holders int      `json:"holders"`
	HeldBy  []string `json:"held_by,omitempty"`
	// Readers and Writers are the numbers of waiters. Queue lists the commands of the first
	// waiters, "" for a read.
	Readers int      `json:"readers"`
	Writers int      `json:"writers"`
	Queue   []string `json:"queue,omitempty"`
}

// Hot is a lock slot that tickets have waited for since the node started.
type Hot struct {
	Shard  int    `json:"shard"`
	Slot   int    `json:"slot"`
	Waited uint64 `json:"waited"`
	WaitUs int64  `json:"wait_us"`
}

// rowsShown bounds the locks and the hot slots of one node, and of a page.
const rowsShown = 16

// MostWaitedFor returns the locks with the most waiters, and the hot slots with the most waits, as
// many as are shown.
func MostWaitedFor(locks []Lock, hot []Hot) ([]Lock, []Hot) {
	slices.SortFunc(locks, func(a, b Lock) int {
		return cmp.Or(cmp.Compare(b.Readers+b.Writers, a.Readers+a.Writers), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Slot, b.Slot))
	})
	slices.SortFunc(hot, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Slot, b.Slot))
	})
	return locks[:min(len(locks), rowsShown)], hot[:min(len(hot), rowsShown)]
}

// ByClock converts the times of the report to the clock of the node that asked, which reads nowMs.
func (t *NodeReport) ByClock(nowMs int64) {
	if t.NowMs == 0 {
		return
	}
	ahead := t.NowMs - nowMs
	t.NowMs = nowMs
	for i := range t.Changes {
		t.Changes[i].AtMs -= ahead
	}
	if t.Series != nil {
		for i := range t.Series.AtMs {
			t.Series.AtMs[i] -= ahead
		}
	}
}
