package admin

import (
	"fmt"
	"strconv"
	"strings"

	"lockstep/proto/client"
)

// memoryCommands are the subcommands of MEMORY, except USAGE.
type memoryCommands struct {
	memory   Memory
	registry *client.Registry
}

func (h *memoryCommands) handlers() client.Handlers {
	return client.Handlers{
		"memory|stats": h.stats, "memory|doctor": h.doctor, "memory|purge": h.purge,
		"memory|malloc-stats": h.mallocStats, "memory|help": memoryHelp,
	}
}

// MemoryFacts are the figures of MEMORY STATS and INFO about a node's memory.
type MemoryFacts struct {
	// UsedBytes is the memory of keys and values, scripts and functions, which maxmemory limits.
	// PeakBytes is its maximum so far. OverheadBytes is the part that is neither key nor value; it
	// includes ScriptBytes and FunctionBytes.
	UsedBytes, PeakBytes, OverheadBytes, ScriptBytes, FunctionBytes int64
	// AllocatedBytes is what the process uses, ActiveBytes the pages that hold it,
	// ResidentBytes the resident pages of the allocator, and RSSBytes all resident
	// pages of the process except those of files, which belong to the page cache.
	AllocatedBytes, ActiveBytes, ResidentBytes, RSSBytes int64
	// ClientBytes are the buffers of connections. KeptBytes is what is kept to
	// answer retries of other nodes, which maxmemory does not limit.
	ClientBytes, KeptBytes int64
	Keys                   int64
	// Databases are those that have keys.
	Databases []DatabaseMemory
}

// Fragmentation is the ratio of the process's resident memory to the memory in use.
// Redis divides by used_memory, which is everything its allocator handed out; here
// that is AllocatedBytes.
func (f *MemoryFacts) Fragmentation() float64 { return Ratio(f.RSSBytes, f.AllocatedBytes) }

// DatabaseMemory is a database's share.
type DatabaseMemory struct {
	DB                     int
	Keys, Volatile         int64
	MainBytes, ExpiryBytes int64
}

// Ratio is a/b, or 0 if b is 0.
func Ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// memoryField is a line of MEMORY STATS: a whole number, or the ratio if that is
// set.
type memoryField struct {
	name  string
	bytes int64
	ratio func() float64
}

func (f *MemoryFacts) datasetBytes() int64 { return f.UsedBytes - f.OverheadBytes }

// head are the fields before those of the databases, tail those after them.
func (f *MemoryFacts) head() []memoryField {
	return []memoryField{
		{name: "peak.allocated", bytes: f.PeakBytes}, {name: "total.allocated", bytes: f.UsedBytes},
		{name: "startup.allocated"}, {name: "replication.backlog"}, {name: "clients.slaves"}, {name: "clients.normal", bytes: f.ClientBytes},
		{name: "cluster.links"}, {name: "aof.buffer"}, {name: "lua.caches", bytes: f.ScriptBytes}, {name: "functions.caches", bytes: f.FunctionBytes},
	}
}

func (f *MemoryFacts) tail() []memoryField {
	of := func(a, b int64) func() float64 { return func() float64 { return Ratio(a, b) } }
	percent := func(a, b int64) func() float64 { return func() float64 { return 100 * Ratio(a, b) } }
	return []memoryField{
		{name: "overhead.total", bytes: f.OverheadBytes}, {name: "keys.count", bytes: f.Keys},
		{name: "keys.bytes-per-key", bytes: f.UsedBytes / max(f.Keys, 1)},
		{name: "dataset.bytes", bytes: f.datasetBytes()}, {name: "dataset.percentage", ratio: percent(f.datasetBytes(), f.UsedBytes)},
		{name: "peak.percentage", ratio: percent(f.UsedBytes, f.PeakBytes)},
		{name: "allocator.allocated", bytes: f.AllocatedBytes}, {name: "allocator.active", bytes: f.ActiveBytes}, {name: "allocator.resident", bytes: f.ResidentBytes},
		{name: "allocator-fragmentation.ratio", ratio: of(f.ActiveBytes, f.AllocatedBytes)}, {name: "allocator-fragmentation.bytes", bytes: f.ActiveBytes - f.AllocatedBytes},
		{name: "allocator-rss.ratio", ratio: of(f.ResidentBytes, f.ActiveBytes)}, {name: "allocator-rss.bytes", bytes: f.ResidentBytes - f.ActiveBytes},
		{name: "rss-overhead.ratio", ratio: of(f.RSSBytes, f.ResidentBytes)}, {name: "rss-overhead.bytes", bytes: f.RSSBytes - f.ResidentBytes},
		{name: "fragmentation", ratio: f.Fragmentation}, {name: "fragmentation.bytes", bytes: f.RSSBytes - f.AllocatedBytes},
	}
}

func memoryFields(r *client.Request, fields []memoryField) {
	for i := range fields {
		r.Out.BulkString(fields[i].name)
		if fields[i].ratio != nil {
			r.Out.Double(fields[i].ratio())
			continue
		}
		r.Out.Int(fields[i].bytes)
	}
}

func (h *memoryCommands) stats(r *client.Request, _ [][]byte) {
	f := h.memory.MemoryFacts()
	head, tail := f.head(), f.tail()
	r.Out.Map(len(head) + len(f.Databases) + len(tail))
	memoryFields(r, head)
	for _, d := range f.Databases {
		r.Out.BulkString("db." + strconv.Itoa(d.DB))
		r.Out.Map(3)
		memoryFields(r, []memoryField{
			{name: "overhead.hashtable.main", bytes: d.MainBytes}, {name: "overhead.hashtable.expires", bytes: d.ExpiryBytes},
			{name: "overhead.hashtable.slot-to-keys"},
		})
	}
	memoryFields(r, tail)
}

// The thresholds of MEMORY DOCTOR.
const (
	doctorBytesMin    = 5 << 20
	doctorPeakRatio   = 1.5
	doctorRSSRatio    = 2
	doctorHeapRatio   = 1.5
	doctorClientBytes = 200 << 10
)

// doctor describes in words what is unusual.
func (f *MemoryFacts) doctor(clients int) string {
	if f.UsedBytes < doctorBytesMin {
		return "There is next to no data on this node; what could be said of its memory would say nothing.\n"
	}
	var found []string
	if Ratio(f.PeakBytes, f.UsedBytes) > doctorPeakRatio {
		found = append(found, fmt.Sprintf("Peak: the data took %d bytes once, far more than now. The process may hold memory of that time; MEMORY PURGE gives it back.", f.PeakBytes))
	}
	if f.Fragmentation() > doctorRSSRatio {
		found = append(found, fmt.Sprintf("Resident: the process has %d bytes of memory and uses %d. MEMORY PURGE gives back what is free.", f.RSSBytes, f.AllocatedBytes))
	}
	if Ratio(f.ActiveBytes, f.AllocatedBytes) > doctorHeapRatio {
		found = append(found, fmt.Sprintf("Holes: the heap's pages have %d bytes and %d of them are in use. New values fill the holes.", f.ActiveBytes, f.AllocatedBytes))
	}
	if clients > 0 && f.ClientBytes/int64(clients) > doctorClientBytes {
		found = append(found, fmt.Sprintf("Connections: %d clients hold %d bytes of buffers. CLIENT LIST shows whose qbuf and omem are large.", clients, f.ClientBytes))
	}
	if found == nil {
		return "Nothing stands out in this node's memory.\n"
	}
	return "What stands out in this node's memory:\n\n * " + strings.Join(found, "\n\n * ") + "\n"
}

func (h *memoryCommands) doctor(r *client.Request, _ [][]byte) {
	f := h.memory.MemoryFacts()
	r.Out.Verbatim("txt", f.doctor(h.registry.Len()))
}

func (h *memoryCommands) purge(r *client.Request, _ [][]byte) {
	h.memory.FreeMemory()
	r.Out.OK()
}

func (h *memoryCommands) mallocStats(r *client.Request, _ [][]byte) {
	r.Out.Verbatim("txt", h.memory.MallocStats())
}

func memoryHelp(r *client.Request, _ [][]byte) {
	help(r, "MEMORY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DOCTOR", "    Tell in words what stands out in the node's memory.",
		"MALLOC-STATS", "    Return what the Go runtime counts of its memory.",
		"PURGE", "    Give memory that is not needed back to the system.",
		"STATS", "    Return where the node's memory is.",
		"USAGE <key> [SAMPLES <count>]", "    Return about how many bytes <key> and its value take. Nothing is", "    sampled, whatever <count> says.")
}
