package report

import (
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"lockstep/engine"
	"lockstep/node/process"
	"lockstep/proto/admin"
)

// peakEvery is the pause between two measurements of the data's memory.
const peakEvery = time.Second

// WatchPeak measures the memory of the data once a second, until the node stops.
func (r *Report) WatchPeak() {
	t := time.NewTicker(peakEvery)
	defer t.Stop()
	for {
		r.notePeak(r.usedBytes())
		r.keptBytes() // starts a measurement, whose result the next call returns
		select {
		case <-t.C:
		case <-r.Ctx.Done():
			return
		}
	}
}

// notePeak raises the peak to used, and returns it.
func (r *Report) notePeak(used int64) int64 {
	for {
		peak := r.peakBytes.Load()
		if used <= peak {
			return peak
		}
		if r.peakBytes.CompareAndSwap(peak, used) {
			return used
		}
	}
}

// keptBytes is the memory of the shards' duplicate tables. Each call returns the measurement of the call before.
func (r *Report) keptBytes() (sum int64) {
	for _, s := range r.Shards() {
		sum += s.Machine().KeptBytes()
	}
	return sum
}

// MemoryFacts implements admin.Memory. UsedBytes is what maxmemory limits: keys and values, scripts
// and functions. The allocator's numbers are those of the Go runtime, for the whole process.
func (r *Report) MemoryFacts() admin.MemoryFacts {
	used := r.usedBytes()
	heap := process.Numbers(process.InUse, process.Unused, process.HeapFree)
	f := admin.MemoryFacts{
		UsedBytes: used, PeakBytes: r.notePeak(used), RSSBytes: process.ResidentBytes(),
		AllocatedBytes: heap[0], ActiveBytes: heap[0] + heap[1], ResidentBytes: heap[0] + heap[1] + heap[2],
		ClientBytes: r.Registry.Buffers().Bytes, KeptBytes: r.keptBytes(),
	}
	for db := range engine.Databases {
		d := admin.DatabaseMemory{DB: db}
		for _, s := range r.Shards() {
			n := s.Machine().Keyspace().Counts(db)
			d.Keys += n.Keys
			d.Volatile += n.Volatile + n.Perishing
		}
		if d.Keys > 0 {
			d.MainBytes, d.ExpiryBytes = d.Keys*int64(engine.OverheadBytes), d.Volatile*int64(engine.OverheadExpiryBytes)
			f.Keys += d.Keys
			f.OverheadBytes += d.MainBytes + d.ExpiryBytes
			f.Databases = append(f.Databases, d)
		}
	}
	for _, s := range r.Shards() {
		f.ScriptBytes += s.Machine().Programs().Scripts.MemoryBytes()
		f.FunctionBytes += s.Machine().Programs().Functions.MemoryBytes()
	}
	f.OverheadBytes = min(f.OverheadBytes+f.ScriptBytes+f.FunctionBytes, used)
	return f
}

// FreeMemory implements admin.Memory.
func (r *Report) FreeMemory() { debug.FreeOSMemory() }

// MallocStats implements admin.Memory with the counters of the Go runtime.
func (r *Report) MallocStats() string {
	var names []string
	for _, d := range metrics.All() {
		if d.Kind == metrics.KindUint64 && (strings.HasPrefix(d.Name, "/memory/") || strings.HasPrefix(d.Name, "/gc/")) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteString("___ Begin Go runtime statistics ___\n")
	for i, v := range process.Numbers(names...) {
		fmt.Fprintf(&b, "%s: %d\n", names[i], v)
	}
	b.WriteString("--- End Go runtime statistics ---\n")
	return b.String()
}

// infoPrograms shows scripts and functions. The memory of interpreters counts as the process's.
func infoPrograms(l *look, t *infoText) {
	f := l.mem()
	scripts := 0
	for _, s := range l.Shards() {
		count, _ := s.Machine().Programs().Scripts.Size()
		scripts += count
	}
	// All shards have the same libraries.
	libraries, functions := 0, 0
	if shards := l.Shards(); len(shards) > 0 {
		libraries, functions, _ = shards[0].Machine().Programs().Functions.Count()
	}
	for _, vm := range []string{"used_memory_lua", "used_memory_vm_eval", "used_memory_vm_functions", "used_memory_vm_total"} {
		t.add(vm, 0)
	}
	t.add("used_memory_scripts_eval", f.ScriptBytes)
	t.add("number_of_cached_scripts", scripts)
	t.add("number_of_functions", functions)
	t.add("number_of_libraries", libraries)
	t.add("used_memory_functions", f.FunctionBytes)
	t.add("used_memory_scripts", f.ScriptBytes+f.FunctionBytes)
	for _, name := range []string{"used_memory_lua_human", "used_memory_vm_total_human"} {
		t.add(name, human(0))
	}
	t.add("used_memory_scripts_human", human(f.ScriptBytes+f.FunctionBytes))
}

// executable is the path of the program, or "" if the system does not say.
func executable() string {
	path, _ := os.Executable()
	return path
}

func systemSeconds() float64 { _, system := process.CPUSeconds(); return system }

func userSeconds() float64 { user, _ := process.CPUSeconds(); return user }

// ResetStats resets the counters of the shards, and the peak of memory.
func (r *Report) ResetStats() {
	for _, s := range r.Shards() {
		st := &s.Machine().Keyspace().Stats
		st.Hits.Store(0)
		st.Misses.Store(0)
		st.Expired.Store(0)
		st.Evicted.Store(0)
	}
	r.peakBytes.Store(0)
}
