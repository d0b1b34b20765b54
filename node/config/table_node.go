package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"lockstep/cluster/meta"
	"lockstep/fsm"
)

// The rows of the node: its addresses, how the cluster is made, replication,
// reading and routing.

const maxPort = 65535

var nodeDirectives = []*Directive{
	{
		Name: "port", Default: "6379", Flags: Immutable,
		Doc:  "TCP port for clients; 0 is none, where there is a tls-port.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.Port }),
	},
	{
		Name: "bind", Default: "127.0.0.1 -::1", Flags: Immutable,
		Doc:     "Addresses to listen on, for clients and for peers; `*` or `::*` is all, and a leading `-` lets an address be missing.",
		Differs: "the value of the redis.conf that Redis ships, not the one compiled into it: nothing listens to the world unless it was told to",
		kind:    into(list("addresses", checkBind), func(s *Settings) *[]string { return &s.Bind }),
	},
	{
		Name: "protected-mode", Default: "yes",
		Doc:  "While the default user has no password, take clients from this machine only, and show the page and the metrics of admin-port to it only. And do not start where other machines can reach the peer port, and no cluster-secret and no password was given.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.ProtectedMode }),
	},
	{
		Name: "peer-port", Aliases: []string{"cluster-port"}, Flags: Immutable,
		derive:    func(s *Settings) string { return strconv.Itoa(s.MainPort() + 10000) },
		deriveDoc: "port + 10000",
		Doc:       "TCP port for the other nodes: Raft and forwarded commands share it. Where port is 0, tls-port + 10000.",
		Differs:   "0 stands for port + 10000 in Redis; here the port itself is shown",
		kind:      into(integer(1, maxPort), func(s *Settings) *int { return &s.PeerPort }),
	},
	{
		Name: "peer-address", Flags: Immutable,
		derive:    derivePeerAddress,
		deriveDoc: "from cluster-announce-*, bind and peer-port",
		Doc:       "host:port under which the other nodes reach this one. A name is resolved anew at each dial and kept in the cluster's state as a name.",
		kind:      into(checkedText("host:port", checkHostPort), func(s *Settings) *string { return &s.PeerAddress }),
	},
	{
		Name: "admin-port", Default: "0", Flags: Immutable,
		Doc:  "HTTP port for the web page, health checks and metrics; 0 is off. It asks for no password.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.AdminPort }),
	},
	{
		Name: "admin-pprof", Default: "no",
		Doc:  "Serve Go's profiles on the admin port, under /debug/pprof/. They cost time while they are taken, and show what the process does.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.AdminPprof }),
	},
	{
		Name: "ready-leader-grace-ms", Default: "15000",
		Doc:  "How long a shard may be without a leader before /readyz of the admin port says no. Shorter than an election, it would take every node out of service in each.",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ReadyLeaderGraceMs }),
	},
	{
		Name: "node-name", Flags: Immutable,
		derive:    deriveNodeName,
		deriveDoc: "hostname-port",
		Doc:       "The node's name in the cluster, for ever: letters, digits, `.`, `_`, `-`, 64 at most.",
		kind:      into(checkedText("name", checkNodeName), func(s *Settings) *string { return &s.NodeName }),
	},
	{
		Name: "dir", Default: "./lockstep-data", Flags: Immutable | guarded,
		Doc:     "Folder of the node's state; made if missing.",
		Differs: "Redis takes the folder it was started in",
		kind:    into(checkedText("path", checkNotEmpty), func(s *Settings) *string { return &s.Dir }),
	},
}

var creationDirectives = []*Directive{
	{
		Name: "bootstrap", Default: "no", Flags: Immutable | CreationOnly,
		Doc:  "Begin a new cluster with this node. A lone node with an empty folder and no `join` does so by itself.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Bootstrap }),
	},
	{
		Name: "bootstrap-expect", Default: "0", Flags: Immutable | CreationOnly,
		Doc:  "With `join`: how many nodes, all started alike with empty folders, begin a new cluster if nobody behind the names of `join` belongs to one. All addresses behind a name are asked. Only when every one answers, and they are exactly this many, the one with the lowest name founds the cluster and the others join it; until then each waits and says why. Writes wait until most of them vote; a founder that is started again with a smaller number awaits fewer. 0: nothing is founded, `join` waits for a cluster.",
		kind: into(integer(0, 64), func(s *Settings) *int { return &s.BootstrapExpect }),
	},
	{
		Name: "rejoin", Default: "no", Flags: Immutable,
		Doc:  "With `join`: when this node is started after it was removed from its cluster, its old data is set aside (in the folder `removed`, the newest only) and a new node begins in its place. With an `admin-port`, a node that is removed while it runs then stays up without serving until it is told to stop, so that a supervisor does not undo the removal.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Rejoin }),
	},
	{
		Name: "replace", Default: "no", Flags: Immutable | CreationOnly,
		Doc:  "With `join`: take the place of the dead node of the same name, whose folder is lost.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Replace }),
	},
	{
		Name: "learner", Default: "no", Flags: Immutable | CreationOnly,
		Doc:  "With `join`: follow every group without a vote, until `clusterctl promote`. The others' quorum stays as it is meanwhile.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Learner }),
	},
	{
		Name: "join", Default: "", Flags: Immutable | CreationOnly,
		Doc:  "host:port of peers (their peer ports), parted by commas or blanks; the first that answers lets this node into its cluster. A node that has one already stays with it and looks for its peers there, too, should their addresses have changed.",
		kind: into(list("host:port,...", checkHostPort), func(s *Settings) *[]string { return &s.Join }),
	},
	{
		Name: "shards", Default: "1", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Number of shards, each its own Raft group, chosen once for the cluster's life.",
		kind: into(integer(1, meta.MaxShards), func(s *Settings) *int { return &s.Shards }),
	},
	{
		Name: "replicas", Default: "3", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Replicas that each shard is to have, on as many nodes: 3 bear the loss of one node, 5 of two. While there are fewer nodes, each has one. `LOCKSTEP REPLICAS` changes it later; 0 puts one on every node for good, however many there are.",
		kind: into(integer(0, 7), func(s *Settings) *int { return &s.Replicas }),
	},
	{
		Name: "replica-repair-after-ms", Default: "300000", Flags: Replicated,
		Doc:  "For how long a node must have been dead before its replicas are had elsewhere, if another node can take them; 0: never.",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ReplicaRepairAfterMs }),
	},
	{
		Name: "replica-copies-max", Default: "4", Flags: Replicated,
		Doc:  "How many shards of the cluster may get another replica at one time.",
		kind: into(integer(1, 1024), func(s *Settings) *int { return &s.ReplicaCopiesMax }),
	},
	{
		Name: "rebalance", Default: "yes", Flags: Replicated,
		Doc:  "Whether replicas and leaders move by themselves, for the sake of balance alone, as when nodes come. What is missing is replaced all the same.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Rebalance }),
	},
	{
		Name: "lock-slots", Default: "1024", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Lock slots of each shard: more slots, less accidental contention between unrelated keys.",
		kind: into(integer(1, 16384), func(s *Settings) *int { return &s.LockSlots }),
	},
	{
		Name: "raft-log-store", Default: string(LogStoreWAL), Flags: Immutable | CreationOnly,
		Doc:  "What keeps the Raft log on disk. `wal` takes about half the time for each write, and at least 64 MB of disk for each log; `boltdb` has the longer history, and takes 16 MB at least. A data folder keeps the store that it was made with, whatever the setting says; nodes of one cluster may differ (getting-started.md, Two log stores). Term and vote are kept by boltdb in either case.",
		kind: into(oneOf(LogStoreWAL, LogStoreBolt), func(s *Settings) *LogStore { return &s.LogStore }),
	},
	{
		Name: "raft-log-shared", Default: "yes", Flags: Immutable | CreationOnly,
		Doc:  "Whether the shards of a node write to one log, with one sync for what they write at one time. It makes no difference where there is one shard.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.LogShared }),
	},
}

var replicationDirectives = []*Directive{
	{
		Name: "raft-heartbeat-ms", Default: "800", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Silence of the leader after which a follower stands for election. The same on all nodes for the cluster's life: leases rest on it. Shorter means a shorter pause when a leader dies and more needless elections on busy machines.",
		kind: into(milliseconds(50, 60_000), func(s *Settings) *int { return &s.RaftHeartbeatMs }),
	},
	{
		Name: "raft-election-ms", Default: "800", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Time a candidate waits for votes before it tries again; not less than raft-heartbeat-ms. The same on all nodes for the cluster's life.",
		kind: into(milliseconds(50, 60_000), func(s *Settings) *int { return &s.RaftElectionMs }),
	},
	{
		Name: "raft-snapshot-entries", Default: "16384", Flags: Immutable,
		Doc:  "Log entries since the last snapshot after which a new one is taken, while a shard's snapshot is no longer than raft-snapshot-bytes; more in proportion where it is longer.",
		kind: into(integer(16, math.MaxInt32), func(s *Settings) *int { return &s.RaftSnapshotEntries }),
	},
	{
		Name: "raft-snapshot-bytes", Default: "256mb", Flags: Immutable,
		Doc:  "Bytes of log since the last snapshot after which a new one is taken. A shard whose snapshot is longer takes the next one when its log is as long as that.",
		kind: into(memory(1<<20, math.MaxInt64), func(s *Settings) *int64 { return &s.RaftSnapshotBytes }),
	},
	{
		Name: "raft-snapshot-bytes-max", Default: "4gb", Flags: Immutable,
		Doc:  "Bytes of log since the last snapshot after which a new one is taken in any case. It bounds how much a restart runs again, and the disk that logs take.",
		kind: into(memory(1<<20, math.MaxInt64), func(s *Settings) *int64 { return &s.RaftSnapshotBytesMax }),
	},
	{
		Name: "raft-trailing-entries", Default: "10240", Flags: Immutable,
		Doc:  "Log entries kept behind a snapshot, so that a node that was away a moment needs no snapshot; more in proportion where a shard's snapshot is longer than raft-snapshot-bytes.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.RaftTrailingEntries }),
	},
	{
		Name: "raft-entry-bytes-max", Default: "512kb", Flags: Immutable,
		Doc:  "Size up to which waiting transactions are put into one log entry. One that is larger goes alone.",
		kind: into(memory(4<<10, fsm.EntryBytesMax), func(s *Settings) *int64 { return &s.RaftEntryBytesMax }),
	},
}

var executionDirectives = []*Directive{
	{
		Name: "cluster-version-raise", Default: string(RaiseAuto), Flags: Replicated,
		Doc:  "When nodes begin to write what a newer version of lockstep brings: `auto` as soon as every node knows it, `manual` when told to (`clusterctl upgrade`). Until then the older version can come back.",
		kind: into(oneOf(RaiseAuto, RaiseManual), func(s *Settings) *Raise { return &s.ClusterVersionRaise }),
	},
	{
		Name: "read-mode", Default: string(ReadLease), Flags: Replicated,
		Doc:  "How a leader proves, before it answers a read, that it still leads: `lease` rests on clocks that run at about the same speed, and do not stand still with a machine that its host freezes; `quorum` asks the other nodes, once for all reads that wait.",
		kind: into(oneOf(ReadLease, ReadQuorum), func(s *Settings) *ReadMode { return &s.ReadMode }),
	},
	{
		Name: "clock-offset-max-ms", Default: "500", Flags: Replicated,
		Doc:  "How far a node's clock may be from what a majority of the nodes' clocks show. A node that is further off leads no shard while another one can. Where the time of day of a shard is further off it is set, without a change to what keys have left to live; what is less is made up for slowly.",
		kind: into(milliseconds(50, 3_600_000), func(s *Settings) *int { return &s.ClockOffsetMaxMs }),
	},
	{
		Name: "routing", Default: string(RouteForward),
		Doc:  "What a node does with a command for a shard that it does not lead: `forward` it, or `redirect` the client (MOVED).",
		kind: into(oneOf(RouteForward, RouteRedirect), func(s *Settings) *Routing { return &s.Routing }),
	},
	{
		Name: "write-timeout-ms", Default: "15000",
		Doc:  "How long a client waits, through changes of leader, before it is told that there is no leader or that the outcome is unknown.",
		kind: into(milliseconds(100, 600_000), func(s *Settings) *int { return &s.WriteTimeoutMs }),
	},
	{
		Name: "permits", Flags: Immutable,
		derive:    func(*Settings) string { return strconv.Itoa(max(8, 4*runtime.GOMAXPROCS(0))) },
		deriveDoc: "4 per CPU, at least 8",
		Doc:       "Commands that may run at once in each shard.",
		kind:      into(integer(1, 1024), func(s *Settings) *int { return &s.Permits }),
	},
	{
		Name: "active-expire", Default: "yes",
		Doc:  "While it leads, the node deletes keys the moment they are due. Without it they go when they are next touched.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.ActiveExpire }),
	},
	{
		Name: "outstanding-txns-max", Default: "65536", Flags: Immutable,
		Doc:  "Transactions a leader has taken on and not answered, per shard; above it they are refused before they enter the log. A replica that runs them more slowly than its leader takes over about as many, and then leaves entries in its log until half of them have run.",
		kind: into(integer(1, 1<<24), func(s *Settings) *int { return &s.OutstandingTxnsMax }),
	},
	{
		Name: "outstanding-bytes-max", Default: "256mb", Flags: Immutable,
		Doc:  "The same in bytes.",
		kind: into(memory(1<<20, 1<<40), func(s *Settings) *int64 { return &s.OutstandingBytesMax }),
	},
	{
		Name: "outstanding-work-max-ms", Default: "5000", Flags: Replicated,
		Doc:  "Work, in milliseconds of one core, that may stand in a shard's log and not have run when a script, function or other command that may take long is to join it. Beyond, such commands wait before the log, in order of arrival, and are answered OVERLOADED after write-timeout-ms; one that was taken for shorter than it is may be answered so at its turn. 0 is no limit.",
		kind: into(integer64(0, math.MaxInt32), func(s *Settings) *int64 { return &s.Engine.OutstandingWorkMaxMs }),
	},
}

func derivePeerAddress(s *Settings) string {
	port := s.PeerPort
	if s.ClusterAnnounceBusPort != 0 {
		port = s.ClusterAnnounceBusPort
	}
	return net.JoinHostPort(peerHost(s), strconv.Itoa(port))
}

// peerHost is the announced name, else the first address that is bound, else,
// where everything is bound, the name of the machine.
func peerHost(s *Settings) string {
	if s.ClusterAnnounceHostname != "" {
		return s.ClusterAnnounceHostname
	}
	if s.ClusterAnnounceIP != "" {
		return s.ClusterAnnounceIP
	}
	if len(s.Bind) == 0 {
		return hostname()
	}
	host := strings.TrimPrefix(s.Bind[0], "-")
	if ip := net.ParseIP(host); host == "*" || host == "::*" || ip != nil && ip.IsUnspecified() {
		return hostname()
	}
	return host
}

func deriveNodeName(s *Settings) string { return fmt.Sprintf("%s-%d", hostname(), s.MainPort()) }

func hostname() string {
	name, err := os.Hostname()
	if err != nil || checkNodeName(name) != nil || len(name) > 58 {
		return "localhost"
	}
	return name
}

func checkBind(a string) error {
	host := strings.TrimPrefix(a, "-")
	if host == "*" || host == "::*" || net.ParseIP(host) != nil || host != "" && checkHostname(host) == nil {
		return nil
	}
	return fmt.Errorf("%q is not an address to listen on", a)
}

func checkHostPort(a string) error {
	host, port, err := net.SplitHostPort(a)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || host == "" || n < 1 || n > maxPort {
		return fmt.Errorf("%q is not of the form host:port", a)
	}
	return nil
}

func checkNodeName(a string) error {
	ok := a != "" && len(a) <= 64
	for _, c := range []byte(a) {
		ok = ok && (checkHostname(string(c)) == nil || c == '_')
	}
	if !ok {
		return fmt.Errorf("%q is not a name of 1 to 64 letters, digits, '.', '_' or '-'", a)
	}
	return nil
}

func checkNotEmpty(a string) error {
	if a == "" {
		return errors.New("argument must not be empty")
	}
	return nil
}
