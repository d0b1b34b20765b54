package command

import (
	"math"
	"strconv"

	"lockstep/engine/script"
	"lockstep/engine/version"
)

// Settings are limits that replicas must agree on, because replies or the form of values depend on
// them. They change only by log entries. Names and defaults are those of redis.conf.
type Settings struct {
	// Version is the cluster version that the shard's log has reached (package version). The
	// effects of a txn, and the content of a snapshot, may depend on it. It is not a directive: the
	// leader puts the cluster's version into the log.
	Version int64
	// ValueBytesMax is the greatest length of a string (proto-max-bulk-len).
	ValueBytesMax int64
	// A hash with at most HashPackEntriesMax fields stays packed if no field and no value is longer
	// than HashPackValueBytesMax.
	HashPackEntriesMax, HashPackValueBytesMax int64
	// The same for sets. A set of only integers is stored as an intset up to SetIntsetEntriesMax.
	SetPackEntriesMax, SetPackValueBytesMax, SetIntsetEntriesMax int64
	// The same for sorted sets.
	ZSetPackEntriesMax, ZSetPackValueBytesMax int64
	// ListPackSize limits a packed list: to a number of elements or, if it is negative, to a number
	// of bytes (-1: 4 KiB ... -5 and below: 64 KiB).
	ListPackSize int64
	// StreamNodeBytesMax and StreamNodeEntriesMax say when a node of a stream is full, 0 for never.
	// Approximate trimming removes whole nodes.
	StreamNodeBytesMax, StreamNodeEntriesMax int64
	// HLLSparseBytesMax is the size beyond which a sparse HyperLogLog becomes
	// dense.
	HLLSparseBytesMax int64
	// TxnWorkMaxMs bounds the work of a txn (work.go), in milliseconds of one core. 0 means no
	// bound.
	TxnWorkMaxMs int64
	// OutstandingWorkMaxMs bounds the work, in milliseconds of one core, that may be outstanding in
	// the log before a long txn. Beyond it the long txn is refused. 0 means no bound.
	OutstandingWorkMaxMs int64
	// MemoryBytesMax is the most memory for the keys of all shards of a node, 0 for no limit
	// (maxmemory). EvictionPolicy is a Policy. EvictionSamples is how many keys are compared for
	// each that is evicted. For LFULogFactor and LFUDecayMin see engine.LFU.
	MemoryBytesMax, EvictionPolicy, EvictionSamples, LFULogFactor, LFUDecayMin int64
	// The limits for all scripts of a txn together: see script.Limits.
	ScriptWorkMaxMs, ScriptBytesMax, ScriptReplyBytesMax, ScriptSourceBytesMax int64
	// ScriptCallDepthMax is the most nested calls in a script.
	ScriptCallDepthMax int64
	// FunctionLibrariesMax, FunctionsMax and FunctionBytesMax bound the libraries of
	// functions: see script.FunctionLimits.
	FunctionLibrariesMax, FunctionsMax, FunctionBytesMax int64
	// ScriptCacheScriptsMax and ScriptCacheBytesMax bound the script cache.
	ScriptCacheScriptsMax, ScriptCacheBytesMax int64
}

// WorkMaxMs is the highest limit on work: a month.
const WorkMaxMs = 31 * 24 * 3600 * 1000

// ScriptLimits are the limits of one txn's scripts.
func (s *Settings) ScriptLimits() script.Limits {
	return script.Limits{
		Work: s.ProgramWorkMax(), Bytes: s.ScriptBytesMax, CallDepth: int(s.ScriptCallDepthMax), ReplyBytes: int(s.ScriptReplyBytesMax), SourceBytes: int(s.ScriptSourceBytesMax),
	}
}

// ScriptCacheLimits are the limits of the script cache.
func (s *Settings) ScriptCacheLimits() script.CacheLimits {
	return script.CacheLimits{Scripts: int(s.ScriptCacheScriptsMax), Bytes: int(s.ScriptCacheBytesMax)}
}

// setting is a row of the table of settings.
type setting struct {
	name     string
	of       func(*Settings) *int64
	min, max int64
	preset   int64
}

// settings lists all settings.
var settings = []setting{
	{versionName, func(s *Settings) *int64 { return &s.Version }, 0, int64(version.Known()), version.First},
	{"proto-max-bulk-len", func(s *Settings) *int64 { return &s.ValueBytesMax }, 1, math.MaxInt64, 512 << 20},
	{"hash-max-listpack-entries", func(s *Settings) *int64 { return &s.HashPackEntriesMax }, 0, math.MaxInt32, 512},
	{"hash-max-listpack-value", func(s *Settings) *int64 { return &s.HashPackValueBytesMax }, 0, math.MaxInt32, 64},
	{"set-max-intset-entries", func(s *Settings) *int64 { return &s.SetIntsetEntriesMax }, 0, math.MaxInt32, 512},
	{"set-max-listpack-entries", func(s *Settings) *int64 { return &s.SetPackEntriesMax }, 0, math.MaxInt32, 128},
	{"set-max-listpack-value", func(s *Settings) *int64 { return &s.SetPackValueBytesMax }, 0, math.MaxInt32, 64},
	{"zset-max-listpack-entries", func(s *Settings) *int64 { return &s.ZSetPackEntriesMax }, 0, math.MaxInt32, 128},
	{"zset-max-listpack-value", func(s *Settings) *int64 { return &s.ZSetPackValueBytesMax }, 0, math.MaxInt32, 64},
	{"list-max-listpack-size", func(s *Settings) *int64 { return &s.ListPackSize }, math.MinInt32, math.MaxInt32, -2},
	{"stream-node-max-bytes", func(s *Settings) *int64 { return &s.StreamNodeBytesMax }, 0, math.MaxInt32, 4096},
	{"stream-node-max-entries", func(s *Settings) *int64 { return &s.StreamNodeEntriesMax }, 0, math.MaxInt32, 100},
	{"hll-sparse-max-bytes", func(s *Settings) *int64 { return &s.HLLSparseBytesMax }, 0, math.MaxInt32, 3000},
	{"txn-max-work-ms", func(s *Settings) *int64 { return &s.TxnWorkMaxMs }, 0, WorkMaxMs, 5000},
	{"outstanding-work-max-ms", func(s *Settings) *int64 { return &s.OutstandingWorkMaxMs }, 0, math.MaxInt32, 5000},
	{"maxmemory", func(s *Settings) *int64 { return &s.MemoryBytesMax }, 0, math.MaxInt64, 0},
	{"maxmemory-policy", func(s *Settings) *int64 { return &s.EvictionPolicy }, int64(PolicyNone), int64(PolicyVolatileTTL), int64(PolicyNone)},
	{"maxmemory-samples", func(s *Settings) *int64 { return &s.EvictionSamples }, 1, math.MaxInt32, 5},
	{"lfu-log-factor", func(s *Settings) *int64 { return &s.LFULogFactor }, 0, math.MaxInt32, 10},
	{"script-max-work-ms", func(s *Settings) *int64 { return &s.ScriptWorkMaxMs }, 1, WorkMaxMs, script.DefaultLimits.Work / script.Millisecond},
	{"script-max-memory", func(s *Settings) *int64 { return &s.ScriptBytesMax }, 1 << 20, 1 << 36, script.DefaultLimits.Bytes},
	{"script-max-reply", func(s *Settings) *int64 { return &s.ScriptReplyBytesMax }, 1 << 10, 1 << 30, int64(script.DefaultLimits.ReplyBytes)},
	{"script-max-source", func(s *Settings) *int64 { return &s.ScriptSourceBytesMax }, 1 << 10, 16 << 20, int64(script.DefaultLimits.SourceBytes)},
	{"script-cache-max-scripts", func(s *Settings) *int64 { return &s.ScriptCacheScriptsMax }, 1, 1 << 20, 10_000},
	{"script-cache-max-bytes", func(s *Settings) *int64 { return &s.ScriptCacheBytesMax }, 1 << 10, 1 << 30, 16 << 20},
	{"function-max-libraries", func(s *Settings) *int64 { return &s.FunctionLibrariesMax }, 0, 1 << 20, 1000},
	{"function-max-functions", func(s *Settings) *int64 { return &s.FunctionsMax }, 0, 1 << 20, 10_000},
	{"function-max-bytes", func(s *Settings) *int64 { return &s.FunctionBytesMax }, 0, 1 << 30, 16 << 20},
	{"lfu-decay-time", func(s *Settings) *int64 { return &s.LFUDecayMin }, 0, math.MaxInt32, 1},
	{"script-max-call-depth", func(s *Settings) *int64 { return &s.ScriptCallDepthMax }, script.CallDepthMin, script.CallDepthMax, int64(script.DefaultLimits.CallDepth)},
}

// DefaultSettings are in force until an entry changes them.
var DefaultSettings = func() (s Settings) {
	for i := range settings {
		*settings[i].of(&s) = settings[i].preset
	}
	return s
}()

// SettingNames lists the names of all settings.
func SettingNames() []string {
	names := make([]string, len(settings))
	for i := range settings {
		names[i] = settings[i].name
	}
	return names
}

// versionName is the name of Settings.Version in the log.
const versionName = "lockstep.version"

// IsDirective reports whether a setting is also a directive of the configuration.
func IsDirective(name string) bool { return name != versionName }

// cameWith is the version that introduced a setting. Tests change it.
var cameWith = version.Since

// Each calls f for each setting that nodes know at the settings' version. The version comes first,
// because programs of that version read the snapshot.
func (s *Settings) Each(f func(name string, value int64)) {
	for i := range settings {
		if row := &settings[i]; cameWith(row.name) <= int(s.Version) {
			f(row.name, *row.of(s))
		}
	}
}

// At sets the version, and resets the settings that later versions introduced.
func (s *Settings) At(clusterVersion int) {
	s.Version = int64(clusterVersion)
	for i := range settings {
		if row := &settings[i]; cameWith(row.name) > clusterVersion {
			*row.of(s) = row.preset
		}
	}
}

// Set changes one setting. It returns false, and changes nothing, if there is no setting of that
// name or the value is out of range.
func (s *Settings) Set(name, value string) bool {
	for i := range settings {
		row := &settings[i]
		if row.name != name {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < row.min || n > row.max {
			return false
		}
		*row.of(s) = n
		return true
	}
	return false
}

// Ref returns a pointer to a setting. There must be one of that name.
func (s *Settings) Ref(name string) *int64 {
	for i := range settings {
		if settings[i].name == name {
			return settings[i].of(s)
		}
	}
	panic("command: no setting " + name)
}

// Get returns the value of a setting. It returns false if there is no setting of that name.
func (s *Settings) Get(name string) (int64, bool) {
	for i := range settings {
		if settings[i].name == name {
			return *settings[i].of(s), true
		}
	}
	return 0, false
}
