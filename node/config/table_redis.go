package config

import "math"

// The directives of Redis that Lockstep knows and does not honour. Each row has the reason.

// ignored makes a row whose value is kept and shown, and has no effect.
func ignored(name, value string, k kind, aliases ...string) *Directive {
	return &Directive{Name: name, Aliases: aliases, Policy: Ignored, Default: value, kind: k}
}

// fixed makes a row that states a fact.
func fixed(name, value string, k kind, why string, aliases ...string) *Directive {
	return &Directive{Name: name, Aliases: aliases, Policy: Fixed, Default: value, Why: why, kind: k}
}

// refused makes a row that stops the start when it is set to anything but its
// default.
func refused(name, value string, k kind, why string, aliases ...string) *Directive {
	return &Directive{Name: name, Aliases: aliases, Policy: Refused, Flags: Immutable, Default: value, Why: why, kind: k}
}

// because gives rows one reason.
func because(why string, rows ...*Directive) []*Directive {
	for _, d := range rows {
		d.Why = why
	}
	return rows
}

// more adds a longer explanation to a row.
func more(text string, d *Directive) *Directive {
	d.More = text
	return d
}

// with adds flags to a row.
func with(flags Flags, d *Directive) *Directive {
	d.Flags |= flags
	return d
}

func onOff() kind              { return unread(yesNo()) }
func count() kind              { return unread(integer(0, math.MaxInt32)) }
func countFrom(low int64) kind { return unread(integer(low, math.MaxInt32)) }
func size() kind               { return unread(memory(0, maxMemory)) }
func sizeFrom(low int64) kind  { return unread(memory(low, maxMemory)) }
func free() kind               { return unread(text()) }
func anything() kind           { return unread(anyWords()) }
func word(values ...string) kind {
	return unread(oneOf(values...))
}

// factDirectives state what this server is. A pasted redis.conf may say
// otherwise; the node then warns, and the fact stands.
func factDirectives() []*Directive {
	appendfsync := fixed("appendfsync", "always", word("always", "everysec", "no"),
		"every write is fsynced on a quorum of disks before it is acknowledged")
	appendfsync.refuses = []string{"no"}
	appendfsync.Differs = "the fact"
	appendonly := fixed("appendonly", "yes", onOff(), "every write is in the Raft log; there is no mode without one")
	appendonly.Differs = "the fact"
	return []*Directive{
		appendonly,
		appendfsync,
		with(Immutable, fixed("databases", "16", unread(integer(1, 16)), "databases 0 to 15 exist, on every node")),
		with(Immutable, fixed("daemonize", "no", onOff(), "the process stays in the foreground; systemd, a container or `&` puts it in the background")),
		with(Immutable, fixed("io-threads", "1", unread(integer(1, 128)), "connections are goroutines on all CPUs; there is no pool of threads to size")),
		with(Immutable, fixed("io-threads-do-reads", "no", onOff(), "connections are goroutines on all CPUs")),
		fixed("min-replicas-to-write", "0", count(), "a write is always on a majority of the shard's nodes before it is acknowledged", "min-slaves-to-write"),
		with(Immutable, fixed("enable-protected-configs", "no", word("no", "yes", "local"), "directives that CONFIG SET must not touch are immutable")),
		fixed("replica-read-only", "yes", onOff(), "every node takes writes and passes them to the leader", "slave-read-only"),
		fixed("cluster-allow-reads-when-down", "no", onOff(), "a read that cannot be proved current is refused; a connection that said READONLY reads what its node has"),
		fixed("shutdown-on-sigint", "default", anything(), "SIGINT hands over leadership, finishes and exits"),
		fixed("shutdown-on-sigterm", "default", anything(), "SIGTERM hands over leadership, finishes and exits"),
	}
}

// refusedDirectives would promise what Lockstep does not do.
func refusedDirectives() []*Directive {
	const (
		replication = "nodes replicate through Raft: start them with `join`"
		passphrase  = "a node cannot read keys with a passphrase: write the key out with `openssl pkey`, readable by this user alone"
	)
	return []*Directive{
		refused("replicaof", "", anything(), replication, "slaveof"),
		refused("cluster-replica-no-failover", "no", onOff(), "any voter may become leader", "cluster-slave-no-failover"),
		with(Secret, refused("tls-key-file-pass", "", free(), passphrase)),
		with(Secret, refused("tls-client-key-file-pass", "", free(), passphrase)),
		refused("unixsocket", "", free(), "there is no listener on a Unix socket"),
		refused("enable-module-command", "no", word("no", "yes", "local"), "modules cannot be loaded"),
		with(fileOnly|repeats, refused("rename-command", "", anything(), "the command could still be called by its own name")),
		with(fileOnly|repeats, refused("loadmodule", "", anything(), "modules cannot be loaded")),
		with(fileOnly|repeats, refused("sentinel", "", anything(), "a Lockstep node is no Sentinel, and needs none: Raft elects leaders")),
	}
}

// persistenceDirectives tune files that Lockstep does not write.
func persistenceDirectives() []*Directive {
	save := with(repeats, ignored("save", "", unread(savePoints())))
	save.Differs = "snapshots follow raft-snapshot-bytes and raft-snapshot-entries"
	return because("the Raft log and its snapshots keep the data; there is no AOF, and RDB files are written by the snapshot code alone",
		save,
		with(Immutable, ignored("appendfilename", "appendonly.aof", free())),
		with(Immutable, ignored("appenddirname", "appendonlydir", free())),
		with(guarded, ignored("dbfilename", "dump.rdb", free())),
		ignored("no-appendfsync-on-rewrite", "no", onOff()),
		ignored("auto-aof-rewrite-percentage", "100", count()),
		ignored("auto-aof-rewrite-min-size", "64mb", size()),
		ignored("aof-load-truncated", "yes", onOff()),
		ignored("aof-use-rdb-preamble", "yes", onOff()),
		ignored("aof-timestamp-enabled", "no", onOff()),
		ignored("aof-disable-auto-gc", "no", onOff()),
		ignored("aof-rewrite-incremental-fsync", "yes", onOff()),
		ignored("rdb-save-incremental-fsync", "yes", onOff()),
		ignored("rdb-del-sync-files", "no", onOff()),
		with(Immutable, ignored("rdbchecksum", "yes", onOff())),
		ignored("rdbcompression", "yes", onOff()),
		ignored("stop-writes-on-bgsave-error", "yes", onOff()),
		ignored("sanitize-dump-payload", "no", word("no", "yes", "clients")),
	)
}

// redisReplicationDirectives tune the replication of Redis. Lockstep has Raft instead.
func redisReplicationDirectives() []*Directive {
	return because("Raft does the replication; see the raft-* directives",
		with(Secret, ignored("masterauth", "", free())),
		ignored("masteruser", "", free()),
		ignored("min-replicas-max-lag", "10", count(), "min-slaves-max-lag"),
		ignored("propagation-error-behavior", "ignore", word("ignore", "panic", "panic-on-replicas")),
		ignored("repl-backlog-size", "1mb", sizeFrom(1)),
		ignored("repl-backlog-ttl", "3600", count()),
		ignored("repl-disable-tcp-nodelay", "no", onOff()),
		ignored("repl-diskless-load", "disabled", word("disabled", "on-empty-db", "swapdb")),
		ignored("repl-diskless-sync", "yes", onOff()),
		ignored("repl-diskless-sync-delay", "5", count()),
		ignored("repl-diskless-sync-max-replicas", "0", count()),
		ignored("repl-ping-replica-period", "10", countFrom(1), "repl-ping-slave-period"),
		ignored("repl-timeout", "60", countFrom(1)),
		ignored("replica-announce-ip", "", free(), "slave-announce-ip"),
		ignored("replica-announce-port", "0", unread(integer(0, maxPort)), "slave-announce-port"),
		ignored("replica-announced", "yes", onOff()),
		ignored("replica-ignore-disk-write-errors", "no", onOff()),
		ignored("replica-ignore-maxmemory", "yes", onOff(), "slave-ignore-maxmemory"),
		ignored("replica-lazy-flush", "no", onOff(), "slave-lazy-flush"),
		ignored("replica-priority", "100", count(), "slave-priority"),
		ignored("replica-serve-stale-data", "yes", onOff(), "slave-serve-stale-data"),
	)
}

// redisClusterDirectives tune the cluster bus of Redis.
func redisClusterDirectives() []*Directive {
	return because("there is no Redis Cluster bus: Raft elects leaders, and shards do not move keys between them",
		with(Immutable, ignored("cluster-config-file", "nodes.conf", free())),
		ignored("cluster-node-timeout", "15000", unread(integer64(0, math.MaxInt64))),
		ignored("cluster-announce-human-nodename", "", free()),
		ignored("cluster-allow-pubsubshard-when-down", "yes", onOff()),
		ignored("cluster-allow-replica-migration", "yes", onOff()),
		ignored("cluster-link-sendbuf-limit", "0", size()),
		ignored("cluster-migration-barrier", "1", count()),
		ignored("cluster-replica-validity-factor", "10", count(), "cluster-slave-validity-factor"),
		ignored("cluster-require-full-coverage", "yes", onOff()),
	)
}

// limitDirectives say how values are encoded. They are part of each shard's replicated state, so
// that all replicas encode a value the same way.
func limitDirectives() []*Directive {
	limit := func(name, preset, doc string, c codec[int64], aliases ...string) *Directive {
		return &Directive{
			Name: name, Aliases: aliases, Default: preset, Flags: Replicated, Doc: doc,
			kind: into(c, func(s *Settings) *int64 { return s.Engine.Ref(name) }),
		}
	}
	number := memory(0, math.MaxInt32)
	return []*Directive{
		limit("hash-max-listpack-entries", "512", "Fields up to which a hash is kept packed.", number, "hash-max-ziplist-entries"),
		limit("hash-max-listpack-value", "64", "Longest field or value of a hash that is kept packed, in bytes.", number, "hash-max-ziplist-value"),
		limit("list-max-listpack-size", "-2", "Elements up to which a list is kept packed. A negative number is a size: -1 is 4 KiB, -5 is 64 KiB.", integer64(math.MinInt32, math.MaxInt32), "list-max-ziplist-size"),
		limit("set-max-intset-entries", "512", "Members up to which a set of integers is kept as integers.", number),
		limit("set-max-listpack-entries", "128", "Members up to which a set is kept packed.", number),
		limit("set-max-listpack-value", "64", "Longest member of a set that is kept packed, in bytes.", number),
		limit("zset-max-listpack-entries", "128", "Members up to which a sorted set is kept packed.", number, "zset-max-ziplist-entries"),
		limit("zset-max-listpack-value", "64", "Longest member of a sorted set that is kept packed, in bytes.", number, "zset-max-ziplist-value"),
		limit("stream-node-max-bytes", "4096", "Most bytes in a node of a stream. 0: no limit.", number),
		limit("stream-node-max-entries", "100", "Most entries in a node of a stream. 0: no limit.", integer64(0, math.MaxInt32)),
		limit("hll-sparse-max-bytes", "3000", "Bytes beyond which a sparse HyperLogLog becomes dense.", number),
	}
}

// engineDirectives tune Redis's data structures and its one thread.
func engineDirectives() []*Directive {
	compress := because("lists are packed and not compressed",
		ignored("list-compress-depth", "0", count()),
	)
	older := because("Redis accepts it in older files, and does nothing with it either",
		with(fileOnly, ignored("list-max-ziplist-entries", "512", free())),
		with(fileOnly, ignored("list-max-ziplist-value", "64", free())),
		with(fileOnly, ignored("lua-replicate-commands", "yes", free())),
	)
	timers := because("an entry in the log deletes a key when it expires; no timer looks for such keys",
		ignored("hz", "10", count()),
		ignored("dynamic-hz", "yes", onOff()),
		ignored("active-expire-effort", "1", unread(integer(1, 10))),
	)
	collected := because("Go's garbage collector frees memory while commands run",
		ignored("activedefrag", "no", onOff()),
		ignored("active-defrag-cycle-max", "25", unread(integer(1, 99))),
		ignored("active-defrag-cycle-min", "1", unread(integer(1, 99))),
		ignored("active-defrag-ignore-bytes", "100mb", sizeFrom(1)),
		ignored("active-defrag-max-scan-fields", "1000", countFrom(1)),
		ignored("active-defrag-threshold-lower", "10", unread(integer(0, 1000))),
		ignored("active-defrag-threshold-upper", "100", unread(integer(0, 1000))),
		ignored("activerehashing", "yes", onOff()),
		ignored("jemalloc-bg-thread", "yes", onOff()),
		ignored("lazyfree-lazy-eviction", "no", onOff()),
		ignored("lazyfree-lazy-expire", "no", onOff()),
		ignored("lazyfree-lazy-server-del", "no", onOff()),
		ignored("lazyfree-lazy-user-del", "no", onOff()),
		ignored("lazyfree-lazy-user-flush", "no", onOff()),
	)
	eviction := because("keys are evicted while commands run, as fast as the log takes it",
		ignored("maxmemory-eviction-tenacity", "10", unread(integer(0, 100))),
	)
	return concat(compress, older, timers, collected, eviction)
}

// processDirectives tune how redis-server uses the operating system, and
// features that Lockstep does not have.
func processDirectives() []*Directive {
	process := because("the supervisor or the Go runtime decides this about the process",
		with(Immutable, ignored("tcp-backlog", "511", count())),
		ignored("bind-source-addr", "", free()),
		with(Immutable, ignored("socket-mark-id", "0", count())),
		with(Immutable, ignored("unixsocketperm", "0", free())),
		with(Immutable, ignored("pidfile", "", free())),
		with(Immutable, ignored("set-proc-title", "yes", onOff())),
		ignored("proc-title-template", "{title} {listen-addr} {server-mode}", free()),
		with(Immutable, ignored("always-show-logo", "no", onOff())),
		ignored("crash-log-enabled", "yes", onOff()),
		ignored("crash-memcheck-enabled", "yes", onOff()),
		with(Immutable, ignored("disable-thp", "yes", onOff())),
		ignored("oom-score-adj", "no", word("no", "yes", "relative", "absolute")),
		ignored("oom-score-adj-values", "0 200 800", anything()),
		with(Immutable, ignored("server_cpulist", "", free())),
		with(Immutable, ignored("bio_cpulist", "", free())),
		with(Immutable, ignored("aof_rewrite_cpulist", "", free())),
		with(Immutable, ignored("bgsave_cpulist", "", free())),
		ignored("ignore-warnings", "", anything()),
		ignored("locale-collate", "", free()),
		with(Immutable, ignored("syslog-enabled", "no", onOff())),
		with(Immutable, ignored("syslog-ident", "redis", free())),
		with(Immutable, ignored("syslog-facility", "local0", word("user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"))),
	)
	developers := because("only the tests of Redis itself use it",
		with(hidden, ignored("watchdog-period", "0", count())),
		with(hidden, ignored("use-exit-on-panic", "no", onOff())),
		with(hidden, ignored("key-load-delay", "0", countFrom(math.MinInt32))),
		with(hidden, ignored("rdb-key-save-delay", "0", countFrom(math.MinInt32))),
		with(hidden, ignored("loading-process-events-interval-bytes", "2097152", countFrom(1024))),
	)
	return concat(process, developers)
}
