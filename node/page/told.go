package page

import (
	"cmp"
	"slices"
)

// Told is what one node reports on itself, beside its status. Fields are only ever
// added: nodes of other versions read it.
type Told struct {
	ID string `json:"id"`
	// NowMs is the node's clock, in Unix time.
	NowMs int64 `json:"now_ms"`
	// DiskFreeBytes and DiskBytes are those of the data folder's file system, 0:
	// unknown; MemoryBytes is what the process may take, MaxMemoryBytes the
	// setting, 0: none.
	DiskFreeBytes  int64 `json:"disk_free_bytes"`
	DiskBytes      int64 `json:"disk_bytes"`
	MemoryBytes    int64 `json:"memory_bytes"`
	MaxMemoryBytes int64 `json:"maxmemory_bytes"`
	// DiskSlow: syncs of the log have taken too long of late. Unknown is how many
	// outcomes were unknown of late.
	DiskSlow bool  `json:"disk_slow,omitempty"`
	Unknown  int64 `json:"unknown,omitempty"`
	// Led are the groups that it leads; Locks and Hot are of those.
	Led     []Led    `json:"led,omitempty"`
	Locks   []Lock   `json:"locks,omitempty"`
	Hot     []Hot    `json:"hot,omitempty"`
	Changes []Change `json:"changes,omitempty"`
	// Series is told when it is asked for, and then nothing else is.
	Series *Series `json:"series,omitempty"`
}

// Led is a group as its leader sees it.
type Led struct {
	Group string `json:"group"`
	Term  uint64 `json:"term"`
	// Answering are the voters that have acknowledged it of late, itself included.
	Voters    int `json:"voters"`
	Answering int `json:"answering"`
	// Keys are those of a shard.
	Keys int64 `json:"keys,omitempty"`
}

// Lock is a lock slot that is held or waited for at this moment.
type Lock struct {
	Shard int `json:"shard"`
	// Slot is -1 for the lock of the whole shard.
	Slot int    `json:"slot"`
	Mode string `json:"mode"`
	// Holders is how many hold it, and HeldBy the commands, where that is known.
	Holders int      `json:"holders"`
	HeldBy  []string `json:"held_by,omitempty"`
	// Readers and Writers wait; Queue are the commands of the first of them, "" for
	// a read.
	Readers int      `json:"readers"`
	Writers int      `json:"writers"`
	Queue   []string `json:"queue,omitempty"`
}

// Hot is a lock slot that was waited for, since the node started.
type Hot struct {
	Shard  int    `json:"shard"`
	Slot   int    `json:"slot"`
	Waited uint64 `json:"waited"`
	WaitUs int64  `json:"wait_us"`
}

// rowsShown bounds the locks and the hot slots of one node, and of a page.
const rowsShown = 16

// MostWaitedFor are the locks for which most wait, and the hot slots for which
// most have waited: so many as are shown.
func MostWaitedFor(locks []Lock, hot []Hot) ([]Lock, []Hot) {
	slices.SortFunc(locks, func(a, b Lock) int {
		return cmp.Or(cmp.Compare(b.Readers+b.Writers, a.Readers+a.Writers), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Slot, b.Slot))
	})
	slices.SortFunc(hot, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Waited, a.Waited), cmp.Compare(a.Shard, b.Shard), cmp.Compare(a.Slot, b.Slot))
	})
	return locks[:min(len(locks), rowsShown)], hot[:min(len(hot), rowsShown)]
}

// ByClock brings the times in what was told to the clock of the one that asked,
// which reads nowMs.
func (t *Told) ByClock(nowMs int64) {
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
