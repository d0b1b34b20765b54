package commands

import "strings"

// Support is how much of one of Redis's commands Lockstep supports.
type Support uint8

const (
	// Full: the command answers as Redis does. The exceptions are those that docs/compatibility.md
	// lists for whole kinds of commands.
	Full Support = iota
	// Partial: part of what the command does in Redis is missing.
	Partial
	// None: the command is unknown or always refused.
	None
)

// String is the word for it.
func (s Support) String() string { return [...]string{"full", "partial", "no"}[s] }

// partly says which part of a command is missing.
var partly = map[string]string{
	"asking":                        "it does nothing: slots do not move, and no node answers ASK",
	"bgsave":                        "it takes a snapshot of every shard; there is no RDB file",
	"client|unblock":                "it finds clients of this node",
	"cluster|count-failure-reports": "it answers 0 for every node: nodes do not report failures, and Raft finds its leaders by itself",
	"cluster|links":                 "it lists the connections for requests, and not those of Raft",
	"cluster|myshardid":             "it is the id of the first shard that the node leads, or of the first shard if it leads none",
	"cluster|saveconfig":            "it does nothing: everything is on disk already",
	"config|set":                    "each directive is honoured, ignored, a fact or refused: docs/configuration.md",
	"debug":                         "only SLEEP, SET-ACTIVE-EXPIRE, RELOAD, DIGEST and DIGEST-VALUE exist",
	"hrandfield":                    "a negative count is 1,048,576 at most",
	"lastsave":                      "it counts SAVE and BGSAVE, and not the snapshots that the log makes necessary",
	"memory|doctor":                 "it covers what a Go process can know",
	"memory|malloc-stats":           "it has the numbers of the Go runtime",
	"migrate":                       "it is refused in MULTI, when it is queued, and in scripts",
	"save":                          "it takes a snapshot of every shard; there is no RDB file",
	"script|debug":                  "there is no debugger",
	"shutdown":                      "everything is on disk already: SAVE, NOSAVE, NOW and FORCE change nothing, and ABORT finds nothing to stop",
	"sort":                          "BY and GET reach keys that have the sorted key's hash tag before the `*`",
	"sort_ro":                       "BY and GET reach keys that have the sorted key's hash tag before the `*`",
	"srandmember":                   "the answer to a negative count is bounded by proto-max-bulk-len",
	"sync":                          "it sends one file of all shards, and nothing follows",
	"psync":                         "it sends one file of all shards, and nothing follows",
	"replconf":                      "only `capa eof` has a meaning",
	"zrandmember":                   "a negative count is 4,194,304 at most",
	"wait":                          "it answers at once how many other nodes certainly have the acknowledged writes",
	"waitaof":                       "it answers at once how many other nodes certainly have the acknowledged writes",
}

// Reasons that several commands share.
const (
	noModules     = "modules cannot be loaded"
	noReplicaOf   = "nodes replicate through Raft: start them with `join`"
	noEpoch       = "Raft's term stands in for it"
	noSlotChanges = "the hash slots of a shard are settled when the cluster is made"
)

// missing says why a command of Redis 7.2 does not exist here. The reason given for a container
// holds for its subcommands.
var missing = map[string]string{
	"replicaof": noReplicaOf, "slaveof": noReplicaOf,
	"failover":     "`clusterctl transfer`, or LOCKSTEP TRANSFER, hands a shard's leadership over",
	"bgrewriteaof": "there is no AOF; snapshots cut the log",
}

// refused says why a command exists and is always refused.
var refused = map[string]string{
	"module|load": noModules, "module|loadex": noModules, "module|unload": noModules,
	"cluster|addslots": noSlotChanges, "cluster|addslotsrange": noSlotChanges, "cluster|delslots": noSlotChanges,
	"cluster|delslotsrange": noSlotChanges, "cluster|flushslots": noSlotChanges, "cluster|setslot": noSlotChanges,
	"cluster|bumpepoch": noEpoch, "cluster|set-config-epoch": noEpoch,
	"cluster|failover": "`clusterctl transfer`, or LOCKSTEP TRANSFER, hands a shard's leadership over",
	"cluster|forget":   "`clusterctl remove`, or LOCKSTEP REMOVE, takes a node out",
	"cluster|meet":     "a node is started with `join` to enter a cluster", "cluster|replicate": "every node replicates every shard",
	"cluster|reset": "LOCKSTEP LEAVE lets a node leave, and an empty folder makes it new",
}

// Refused says why an existing command is always refused. It returns "" if the command is not
// refused.
func Refused(name string) string { return refused[name] }

// SupportOf returns how much of a command is supported, and the reason if that is not all.
func SupportOf(name string) (Support, string) {
	if Get(name) != nil {
		if why := partly[name]; why != "" {
			return Partial, why
		}
		if why := refused[name]; why != "" {
			return None, "it is refused: " + why
		}
		return Full, ""
	}
	why := missing[name]
	if container, _, ok := strings.Cut(name, "|"); ok && why == "" {
		why = missing[container]
	}
	return None, why
}
