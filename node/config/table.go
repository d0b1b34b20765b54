package config

import "fmt"

// Group headings, in the order of --help and of the documentation.
const (
	groupNode        = "The node and its addresses"
	groupCreation    = "How the cluster is made"
	groupReplication = "Replication"
	groupExecution   = "Reads, routing, parallelism, waiting"
	groupFace        = "What cluster-aware clients see"
	groupClients     = "Clients"
	groupSecurity    = "Security"
	groupMemory      = "Memory and keys"
	groupEncoding    = "How values are kept"
	groupScripts     = "Scripts"
	groupObserve     = "Logs, and stopping"
	groupFacts       = "Facts: settings of Redis that are fixed here"
	groupRefused     = "Refused"
	groupPersistence = "Redis's persistence"
	groupRedisRepl   = "Redis's replication"
	groupRedisBus    = "Redis's cluster bus"
	groupEngine      = "Redis's data structures and timers"
	groupProcess     = "Redis's process and other features"
	groupTLS         = "TLS"
)

// The table, with its groups in order, and the index from names to rows. They are
// written once, here, and are read-only afterwards.
var (
	table  = makeTable()
	byName = indexNames(table)
)

// makeTable lists the rows, group by group.
func makeTable() []*Directive {
	var rows []*Directive
	add := func(group string, directives []*Directive) {
		for _, d := range directives {
			d.Group, d.row = group, len(rows)
			rows = append(rows, d)
		}
	}
	add(groupNode, nodeDirectives)
	add(groupCreation, creationDirectives)
	add(groupReplication, replicationDirectives)
	add(groupExecution, executionDirectives)
	add(groupFace, faceDirectives)
	add(groupClients, clientDirectives)
	add(groupSecurity, securityDirectives)
	add(groupMemory, memoryDirectives)
	add(groupScripts, scriptDirectives())
	add(groupObserve, observeDirectives)
	add(groupFacts, factDirectives())
	add(groupRefused, refusedDirectives())
	add(groupPersistence, persistenceDirectives())
	add(groupRedisRepl, redisReplicationDirectives())
	add(groupRedisBus, redisClusterDirectives())
	add(groupEncoding, limitDirectives())
	add(groupEngine, engineDirectives())
	add(groupProcess, processDirectives())
	add(groupTLS, tlsDirectives)
	return rows
}

func indexNames(rows []*Directive) map[string]*Directive {
	index := make(map[string]*Directive, 2*len(rows))
	for _, d := range rows {
		for _, name := range d.Names() {
			if index[name] != nil {
				panic(fmt.Sprintf("config: directive %q has two rows", name))
			}
			index[name] = d
		}
	}
	return index
}

// Lookup finds a directive by its name or an alias, in lower case.
func Lookup(name string) (*Directive, bool) {
	d, ok := byName[name]
	return d, ok
}

func concat(parts ...[]*Directive) []*Directive {
	var all []*Directive
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
