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
		Doc:  "TCP port for clients. 0: none; then there must be a tls-port.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.Port }),
	},
	{
		Name: "bind", Default: "127.0.0.1 -::1", Flags: Immutable,
		Doc:     "Addresses to listen on, for clients and for peers. `*` or `::*` is every address. A leading `-` lets an address be missing.",
		Differs: "this is the value of the redis.conf that Redis ships, not the one compiled into Redis. The node listens to the network only if it is told to",
		kind:    into(list("addresses", checkBind), func(s *Settings) *[]string { return &s.Bind }),
	},
	{
		Name: "protected-mode", Default: "yes",
		Doc:  "While the default user has no password, accept clients from this machine only, and show the page and the metrics of admin-port to this machine only.",
		More: "The node also refuses to start if other machines can reach the peer port and it was given neither a cluster-secret nor a password.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.ProtectedMode }),
	},
	{
		Name: "peer-port", Aliases: []string{"cluster-port"}, Flags: Immutable,
		derive:    func(s *Settings) string { return strconv.Itoa(s.MainPort() + 10000) },
		deriveDoc: "port + 10000",
		Doc:       "TCP port for the other nodes. Raft and forwarded commands share it. If port is 0, the default is tls-port + 10000.",
		Differs:   "in Redis 0 stands for port + 10000; here CONFIG GET shows the port itself",
		kind:      into(integer(1, maxPort), func(s *Settings) *int { return &s.PeerPort }),
	},
	{
		Name: "peer-address", Flags: Immutable,
		derive:    derivePeerAddress,
		deriveDoc: "from cluster-announce-*, bind and peer-port",
		Doc:       "host:port at which the other nodes reach this one.",
		More:      "The cluster's state keeps a name as a name. Nodes resolve it again at each dial.",
		kind:      into(checkedText("host:port", checkHostPort), func(s *Settings) *string { return &s.PeerAddress }),
	},
	{
		Name: "admin-port", Default: "0", Flags: Immutable,
		Doc:  "HTTP port for the web page, health checks and metrics. It asks for no password. 0: off.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.AdminPort }),
	},
	{
		Name: "admin-pprof", Default: "no",
		Doc:  "Serve Go's profiles on the admin port, under /debug/pprof/. A profile costs time while it is taken, and shows what the process does.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.AdminPprof }),
	},
	{
		Name: "ready-leader-grace-ms", Default: "15000",
		Doc:  "How long a shard may be without a leader before /readyz of the admin port says no.",
		More: "Keep it longer than an election. Otherwise each election takes every node out of service.",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ReadyLeaderGraceMs }),
	},
	{
		Name: "node-name", Flags: Immutable,
		derive:    deriveNodeName,
		deriveDoc: "hostname-port",
		Doc:       "The node's permanent name in the cluster: at most 64 letters, digits, `.`, `_` and `-`.",
		kind:      into(checkedText("name", checkNodeName), func(s *Settings) *string { return &s.NodeName }),
	},
	{
		Name: "dir", Default: "./lockstep-data", Flags: Immutable | guarded,
		Doc:     "Folder of the node's state. The node makes it if it is missing.",
		Differs: "Redis uses the folder it was started in",
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
		Doc:  "With `join`: how many nodes, all started alike with empty folders, found a new cluster if no node behind the `join` names belongs to one. 0: found none, wait for one.",
		More: "Each node asks all addresses behind each name. Only if all answer, and they are exactly this many, the node with the lowest name founds the cluster and the others join it. Until then each node waits and says why. Writes wait until most of the nodes vote. A founder that is started again with a smaller number waits for fewer nodes.",
		kind: into(integer(0, 64), func(s *Settings) *int { return &s.BootstrapExpect }),
	},
	{
		Name: "rejoin", Default: "no", Flags: Immutable,
		Doc:  "With `join`: a removed node that is started again sets its old data aside, and a new node begins in its place.",
		More: "The old data goes to the folder `removed`, which keeps the newest only. With an `admin-port`, a node that is removed while it runs stays up without serving until it is told to stop, so that a supervisor does not undo the removal.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Rejoin }),
	},
	{
		Name: "replace", Default: "no", Flags: Immutable | CreationOnly,
		Doc:  "With `join`: take the place of the dead node of the same name, whose folder is lost.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Replace }),
	},
	{
		Name: "learner", Default: "no", Flags: Immutable | CreationOnly,
		Doc:  "With `join`: follow every group without a vote, until `clusterctl promote`. The quorum of the other nodes stays as it is meanwhile.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Learner }),
	},
	{
		Name: "join", Default: "", Flags: Immutable | CreationOnly,
		Doc:  "host:port of peers (their peer ports), separated by commas or blanks. The first that answers lets this node into its cluster.",
		More: "A node that already has a cluster stays with it. It also looks for its peers at these addresses, in case theirs have changed.",
		kind: into(list("host:port,...", checkHostPort), func(s *Settings) *[]string { return &s.Join }),
	},
	{
		Name: "shards", Default: "1", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Number of shards, each its own Raft group. Chosen once for the life of the cluster.",
		kind: into(integer(1, meta.MaxShards), func(s *Settings) *int { return &s.Shards }),
	},
	{
		Name: "replicas", Default: "3", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Replicas of each shard, on as many nodes: 3 survive the loss of one node, 5 of two. With fewer nodes, each node has one.",
		More: "`LOCKSTEP REPLICAS` changes it later. 0 keeps one on every node, however many nodes there are.",
		kind: into(integer(0, 7), func(s *Settings) *int { return &s.Replicas }),
	},
	{
		Name: "replica-repair-after-ms", Default: "300000", Flags: Replicated,
		Doc:  "How long a node must have been dead before its replicas are made again on other nodes, if another node can take them. 0: never.",
		kind: into(milliseconds(0, math.MaxInt32), func(s *Settings) *int { return &s.ReplicaRepairAfterMs }),
	},
	{
		Name: "replica-copies-max", Default: "4", Flags: Replicated,
		Doc:  "How many shards of the cluster may get another replica at one time.",
		kind: into(integer(1, 1024), func(s *Settings) *int { return &s.ReplicaCopiesMax }),
	},
	{
		Name: "rebalance", Default: "yes", Flags: Replicated,
		Doc:  "Whether replicas and leaders move by themselves just for balance, as when nodes are added. Missing replicas are replaced in any case.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.Rebalance }),
	},
	{
		Name: "lock-slots", Default: "1024", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "Lock slots of each shard. More slots mean less accidental contention between unrelated keys.",
		kind: into(integer(1, 16384), func(s *Settings) *int { return &s.LockSlots }),
	},
	{
		Name: "raft-log-store", Default: string(LogStoreWAL), Flags: Immutable | CreationOnly,
		Doc:  "What keeps the Raft log on disk: `wal` (about half the time for each write, at least 64 MB for each log) or `boltdb` (the longer history, at least 16 MB).",
		More: "A data folder keeps the store it was made with, whatever the setting says. Nodes of one cluster may differ (getting-started.md, Two log stores). Term and vote are kept by boltdb in either case.",
		kind: into(oneOf(LogStoreWAL, LogStoreBolt), func(s *Settings) *LogStore { return &s.LogStore }),
	},
	{
		Name: "raft-log-shared", Default: "yes", Flags: Immutable | CreationOnly,
		Doc:  "Whether the shards of a node write to one log, with one sync for what they write at one time. With one shard it makes no difference.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.LogShared }),
	},
}

var replicationDirectives = []*Directive{
	{
		Name: "raft-heartbeat-ms", Default: "800", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "How long the leader may be silent before a follower stands for election. The same on all nodes for the life of the cluster: leases rest on it.",
		More: "A shorter time means a shorter pause when a leader dies, and more needless elections on busy machines.",
		kind: into(milliseconds(50, 60_000), func(s *Settings) *int { return &s.RaftHeartbeatMs }),
	},
	{
		Name: "raft-election-ms", Default: "800", Flags: Immutable | CreationOnly | Replicated,
		Doc:  "How long a candidate waits for votes before it tries again. Not less than raft-heartbeat-ms. The same on all nodes for the life of the cluster.",
		kind: into(milliseconds(50, 60_000), func(s *Settings) *int { return &s.RaftElectionMs }),
	},
	{
		Name: "raft-snapshot-entries", Default: "16384", Flags: Immutable,
		Doc:  "Log entries since the last snapshot after which a shard takes a new one.",
		More: "For a shard whose snapshot is longer than raft-snapshot-bytes, the number grows in proportion.",
		kind: into(integer(16, math.MaxInt32), func(s *Settings) *int { return &s.RaftSnapshotEntries }),
	},
	{
		Name: "raft-snapshot-bytes", Default: "256mb", Flags: Immutable,
		Doc:  "Bytes of log since the last snapshot after which a shard takes a new one. A shard whose snapshot is longer waits until its log is as long as its snapshot.",
		kind: into(memory(1<<20, math.MaxInt64), func(s *Settings) *int64 { return &s.RaftSnapshotBytes }),
	},
	{
		Name: "raft-snapshot-bytes-max", Default: "4gb", Flags: Immutable,
		Doc:  "Bytes of log since the last snapshot after which a shard takes a new one in any case. It bounds what a restart runs again, and the disk space of logs.",
		kind: into(memory(1<<20, math.MaxInt64), func(s *Settings) *int64 { return &s.RaftSnapshotBytesMax }),
	},
	{
		Name: "raft-trailing-entries", Default: "10240", Flags: Immutable,
		Doc:  "Log entries kept behind a snapshot, so that a node that was away for a moment needs no snapshot.",
		More: "For a shard whose snapshot is longer than raft-snapshot-bytes, the number grows in proportion.",
		kind: into(integer(0, math.MaxInt32), func(s *Settings) *int { return &s.RaftTrailingEntries }),
	},
	{
		Name: "raft-entry-bytes-max", Default: "512kb", Flags: Immutable,
		Doc:  "Size up to which waiting transactions are put into one log entry. A larger transaction gets an entry of its own.",
		kind: into(memory(4<<10, fsm.EntryBytesMax), func(s *Settings) *int64 { return &s.RaftEntryBytesMax }),
	},
}

var executionDirectives = []*Directive{
	{
		Name: "cluster-version-raise", Default: string(RaiseAuto), Flags: Replicated,
		Doc:  "When nodes begin to use what a newer version of lockstep writes: `auto` as soon as every node knows it, `manual` when told to (`clusterctl upgrade`).",
		More: "Until then you can go back to the older version.",
		kind: into(oneOf(RaiseAuto, RaiseManual), func(s *Settings) *Raise { return &s.ClusterVersionRaise }),
	},
	{
		Name: "read-mode", Default: string(ReadLease), Flags: Replicated,
		Doc:  "How a leader proves that it still leads before it answers a read: `lease` trusts clocks, `quorum` asks the other nodes.",
		More: "`lease` needs clocks that run at about the same speed, and that do not stand still when a host freezes its machine. `quorum` asks once for all reads that wait.",
		kind: into(oneOf(ReadLease, ReadQuorum), func(s *Settings) *ReadMode { return &s.ReadMode }),
	},
	{
		Name: "clock-offset-max-ms", Default: "500", Flags: Replicated,
		Doc:  "How far a node's clock may be from what a majority of the nodes' clocks show. A node that is further off leads no shard while another one can.",
		More: "If the time of day of a shard is further off, it is set; what keys have left to live does not change. A smaller difference is made up for slowly.",
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
		Doc:  "While it leads, the node deletes keys the moment they expire. Without it, expired keys are deleted when they are next touched.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.ActiveExpire }),
	},
	{
		Name: "outstanding-txns-max", Default: "65536", Flags: Immutable,
		Doc:  "Transactions that a leader has accepted and not answered, for each shard. Above it the leader refuses them before they enter the log.",
		More: "A replica that runs them more slowly than its leader takes over about as many, and then leaves entries in its log until half of them have run.",
		kind: into(integer(1, 1<<24), func(s *Settings) *int { return &s.OutstandingTxnsMax }),
	},
	{
		Name: "outstanding-bytes-max", Default: "256mb", Flags: Immutable,
		Doc:  "The same limit in bytes.",
		kind: into(memory(1<<20, 1<<40), func(s *Settings) *int64 { return &s.OutstandingBytesMax }),
	},
	{
		Name: "outstanding-work-max-ms", Default: "5000", Flags: Replicated,
		Doc:  "Work, in milliseconds of one core, that may wait in a shard's log when a script, function or other command that may take long is to join it. 0: no limit.",
		More: "Above it, such commands wait before the log, in order of arrival, and are answered OVERLOADED after write-timeout-ms. A command that the node took for a shorter one may get that answer when its turn comes.",
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

// peerHost is the announced name or address, else the first bound address, else, if the node
// listens on all addresses, the name of the machine.
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
