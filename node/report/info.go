// Package report reports numbers on one node: INFO for clients, a page of metrics for Prometheus,
// and both for a support bundle.
//
// It only reads: each number is counted in one of the node's parts, which Facts lists. A report
// waits for no command, and for no other node except in INFO keyspace, which counts keys.
// docs/monitoring.md is made from the tables of metrics (make docs).
package report

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/reply"
	"lockstep/fsm"
	"lockstep/ground/caught"
	"lockstep/ground/secure"
	"lockstep/node/clusterview"
	"lockstep/node/logs"
	"lockstep/node/member"
	"lockstep/node/ops"
	"lockstep/node/relay"
	"lockstep/node/survey"
	"lockstep/node/users"
	"lockstep/proto/admin"
	"lockstep/proto/client"
	"lockstep/proto/stats"
	"lockstep/proto/tracking"
)

// Facts are the parts of the node that reports read.
type Facts struct {
	*member.Member
	Survey   *survey.Survey
	View     *clusterview.View
	Stats    *stats.Stats
	Registry *client.Registry
	Tracking *tracking.Table
	Messages *relay.Messages
	Feeds    *relay.Feeds
	Users    *users.Users
	Memory   *shard.Memory
	Saves    Saves
	Clock    survey.Clock
	// TLS holds the certificates. It is nil if no port speaks TLS.
	TLS *secure.Keeper
	// Panics counts the panics of code that served a connection, by port.
	Panics Panics
	// IsReady returns why the node is not ready, or nil if it is.
	IsReady func() error
	// SupervisedBy is INFO's word for the program that supervises the process.
	SupervisedBy func() string
	// LogTail is the end of the log.
	LogTail *logs.Tail
	// Ctx ends with the node.
	Ctx context.Context
}

// Panics counts the panics of code that served a connection, by port.
type Panics struct{ Peers, Clients, Admin *caught.Panics }

// Saves reports on SAVE and BGSAVE.
type Saves interface {
	State() ops.Saved
	// LoggedTxns is the number of txns that this node's replicas have taken from their logs since
	// the node started.
	LoggedTxns() uint64
	// LastSnapshotUnix is when SAVE or BGSAVE last succeeded, in Unix time.
	LastSnapshotUnix() int64
}

// Report produces INFO and the metrics of a node.
type Report struct {
	Facts
	// peakBytes is the highest memory use of the data, measured once a second.
	peakBytes atomic.Int64
	// scrapes bounds the number of pages of metrics that are made in parallel.
	scrapes scrapes
}

// New returns a Report that reads these facts.
func New(f Facts) *Report { return &Report{Facts: f, scrapes: newScrapes()} }

// infoSection is one section of INFO.
type infoSection struct {
	name string
	// rows are the section's lines.
	rows []row
	// extra means that the section is shown only when asked for, or with "all".
	extra bool
}

// infoSections are all sections in the order of INFO.
var infoSections = []infoSection{
	{name: "server", rows: serverRows}, {name: "clients", rows: clientRows}, {name: "memory", rows: memoryRows},
	{name: "persistence", rows: persistenceRows}, {name: "stats", rows: statsRows}, {name: "replication", rows: replicationRows},
	{name: "cpu", rows: cpuRows}, {name: "commandstats", rows: []row{block(infoCommandStats)}, extra: true},
	{name: "errorstats", rows: []row{block(infoErrorStats)}}, {name: "latencystats", rows: []row{block(infoLatencyStats)}, extra: true},
	{name: "modules"}, {name: "cluster", rows: clusterRows}, {name: "tls", rows: []row{block(infoTLS)}}, {name: "raft", rows: raftRows},
	{name: "locks", rows: []row{block(infoLocks)}, extra: true}, {name: "keyspace", rows: []row{block(infoKeyspace)}},
}

// infoText builds INFO's text. Its lines end with CRLF.
type infoText struct{ b strings.Builder }

func (t *infoText) section(name string) {
	if t.b.Len() > 0 {
		t.b.WriteString("\r\n")
	}
	title := strings.ToUpper(name[:1]) + name[1:]
	if name == "cpu" || name == "tls" {
		title = strings.ToUpper(name)
	}
	t.b.WriteString("# " + title + "\r\n")
}

func (t *infoText) add(name string, value any) { fmt.Fprintf(&t.b, "%s:%v\r\n", name, value) }

// Info implements admin.Facts.
func (r *Report) Info(sections []string) string {
	var t infoText
	l := r.look()
	for _, s := range infoSections {
		if !wanted(s, sections) {
			continue
		}
		t.section(s.name)
		for i := range s.rows {
			s.rows[i].info(l, &t)
		}
	}
	return t.b.String()
}

func wanted(s infoSection, sections []string) bool {
	if len(sections) == 0 {
		return !s.extra
	}
	return slices.Contains(sections, s.name) || slices.Contains(sections, "all") || slices.Contains(sections, "everything") ||
		(slices.Contains(sections, "default") && !s.extra)
}

// lruClockMask keeps as many bits of the time as Redis's clock has.
const lruClockMask = 1<<24 - 1

// human prints bytes as Redis does in the _human fields.
func human(bytes int64) string {
	const unit = 1024.0
	f := float64(bytes)
	for _, suffix := range []string{"B", "K", "M", "G"} {
		if f < unit {
			if suffix == "B" {
				return fmt.Sprintf("%d%s", bytes, suffix)
			}
			return fmt.Sprintf("%.2f%s", f, suffix)
		}
		f /= unit
	}
	return fmt.Sprintf("%.2fT", f)
}

// MemoryFull implements admin.Facts.
func (r *Report) MemoryFull() bool { return r.Memory.Full() }

func (r *Report) usedBytes() int64 {
	return r.Memory.UsedBytes()
}

// percent prints a fraction as a percentage, as Redis does.
func percent(part, whole int64) string {
	return fmt.Sprintf("%.2f%%", 100*admin.Ratio(part, whole))
}

// keyspaceSums are the sums of the counters of this node's replicas.
type keyspaceSums struct{ hits, misses, expired, evicted int64 }

func (l *look) keys() (sums keyspaceSums) {
	for _, s := range l.Shards() {
		st := &s.Machine().Keyspace().Stats
		sums.hits, sums.misses = sums.hits+st.Hits.Load(), sums.misses+st.Misses.Load()
		sums.expired, sums.evicted = sums.expired+st.Expired.Load(), sums.evicted+st.Evicted.Load()
	}
	return sums
}

// infoSlave shows the master of a node that shows itself as a slave.
func infoSlave(l *look, t *infoText) {
	if l.View.Role() != "slave" {
		return
	}
	replicas := l.View.Replicas()
	t.add("master_host", first(replicas, 0))
	t.add("master_port", first(replicas, 1))
	t.add("master_link_status", "up")
	t.add("master_last_io_seconds_ago", 0)
	t.add("master_sync_in_progress", 0)
	t.add("slave_read_repl_offset", l.View.Offset())
	t.add("slave_repl_offset", l.View.Offset())
	t.add("slave_priority", 100)
	t.add("slave_read_only", 0)
	t.add("replica_announced", 1)
}

// infoSlaves shows the other nodes.
func infoSlaves(l *look, t *infoText) {
	for i, r := range l.View.Replicas() {
		t.add("slave"+strconv.Itoa(i), fmt.Sprintf("ip=%s,port=%s,state=online,offset=%s,lag=0", r[0], r[1], r[2]))
	}
}

func first(replicas [][3]string, i int) string {
	if len(replicas) == 0 {
		return ""
	}
	return replicas[0][i]
}

func infoErrorStats(l *look, t *infoText) {
	for _, e := range l.Stats.PerError() {
		t.add("errorstat_"+e.Prefix, fmt.Sprintf("count=%d", e.Count))
	}
}

// infoLatencyStats shows the percentiles of the setting latency-tracking-info-percentiles.
func infoLatencyStats(l *look, t *infoText) {
	wanted := l.Config.Current().LatencyPercentiles
	all := l.Stats.PerLatency()
	for i := range all {
		var parts []string
		for _, p := range wanted {
			if percent, err := strconv.ParseFloat(p, 64); err == nil {
				parts = append(parts, fmt.Sprintf("p%g=%.3f", percent, all[i].PercentileUsec(percent)))
			}
		}
		t.add("latency_percentiles_usec_"+all[i].Name, strings.Join(parts, ","))
	}
}

// countsWait bounds how long INFO waits for shards of which this node has no replica. Shards
// without an answer by then are left out.
const countsWait = time.Second

// keyCounts counts the keys of all shards. It reads this node's replicas directly, and asks other
// nodes for the other shards.
func (r *Report) keyCounts() (sums [engine.Databases]keycmd.KeyCounts) {
	var calls []*cluster.Call
	for i := range r.ShardCount() {
		s := r.Replica(i)
		if s == nil {
			op := fsm.Op{Args: [][]byte{[]byte("lockstep.keycounts")}}
			calls = append(calls, &cluster.Call{Shard: i, ReadOnly: true, Stale: true, Txn: fsm.Txn{Proto: reply.RESP2, Ops: []fsm.Op{op}}})
			continue
		}
		for db := range sums {
			sums[db].Add(keycmd.CountKeys(s.Machine().Keyspace(), db, s.Machine().DayOffsetMs()))
		}
	}
	if len(calls) == 0 {
		return sums
	}
	ctx, cancel := context.WithTimeout(r.Ctx, countsWait)
	defer cancel()
	r.Router.Do(ctx, calls)
	for _, call := range calls {
		if counts, ok := keycmd.ParseKeyCounts(call.Reply); ok {
			for db := range sums {
				sums[db].Add(counts[db])
			}
		}
	}
	return sums
}

func infoKeyspace(l *look, t *infoText) {
	now := time.Now().Unix()
	for db, c := range l.keyCounts() {
		if c.Keys > 0 {
			t.add("db"+strconv.Itoa(db), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d,subexpiry=%d", c.Keys, c.Volatile, c.MeanTTLMs(now), c.Perishing))
		}
	}
}

// Mode implements admin.Facts.
func (r *Report) Mode() string {
	if r.Config.Current().ClusterEnabled {
		return "cluster"
	}
	return "standalone"
}

// infoTLS shows the ports that speak TLS, and when certificates expire.
func infoTLS(l *look, t *infoText) {
	s := l.Config.Current()
	yesNo := map[bool]string{true: "yes", false: "no"}
	t.add("tls_port", s.TLSPort)
	t.add("tls_cluster", yesNo[s.SecuresPeers()])
	t.add("tls_admin", s.TLSAdmin)
	if l.TLS == nil {
		return
	}
	found := l.TLS.Report()
	for _, c := range found.Certificates {
		name := map[string]string{secure.UseNode: "tls_cert", secure.UseClient: "tls_client_cert"}[c.Use]
		if name == "" {
			continue
		}
		t.add(name+"_subject", c.Subject)
		t.add(name+"_expires_unix", c.NotAfter.Unix())
		t.add(name+"_expires_in_seconds", int64(time.Until(c.NotAfter).Seconds()))
	}
	if first, ok := found.FirstAuthority(); ok {
		t.add("tls_ca_expires_unix", first.Unix())
		t.add("tls_ca_expires_in_seconds", int64(time.Until(first).Seconds()))
	}
	t.add("tls_reloads", found.Reloads)
	t.add("tls_reload_problem", found.Problem)
}
