package report

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/engine/sched"
	"lockstep/node/config"
	"lockstep/node/metrics"
	"lockstep/node/process"
	"lockstep/node/status"
	"lockstep/proto/admin"
	"lockstep/proto/client"
)

// metric is a row of the tables of metrics.
type metric struct {
	metrics.Desc
	// from names the source of the number, for the documentation.
	from string
	// read writes the metric's series.
	read func(*look, *metrics.Page)
}

// look is the data of one scrape, or of one INFO. Costly values are read once, when they are first
// needed. Nothing here waits for a command or for another node.
type look struct {
	*Report
	s       *config.Settings
	cluster *meta.View

	replicas []groupLook
	memory   *admin.MemoryFacts
	clients  *client.Buffers
	heap     []int64
}

func (r *Report) look() *look {
	return &look{Report: r, s: r.Config.Current(), cluster: r.Machine.View()}
}

// mem is the memory of the data and of the process.
func (l *look) mem() *admin.MemoryFacts {
	if l.memory == nil {
		f := l.MemoryFacts()
		l.memory = &f
	}
	return l.memory
}

// buffers are the buffers of clients.
func (l *look) buffers() *client.Buffers {
	if l.clients == nil {
		b := l.Registry.Buffers()
		l.clients = &b
	}
	return l.clients
}

// runtime is the heap as the Go runtime counts it: in use, mapped, returned, and the number of
// collections.
func (l *look) runtime() []int64 {
	if l.heap == nil {
		l.heap = process.Numbers(process.InUse, process.Mapped, process.Returned, process.Cycles)
	}
	return l.heap
}

// groupLook describes one replica. shard and sched are set only for a shard.
type groupLook struct {
	label  string
	group  *shard.Group
	stats  shard.GroupStats
	status status.Group
	counts *shard.GroupCounts
	shard  *shard.Shard
	sched  sched.Stats
}

// groups are this node's replicas, the meta group last.
func (l *look) groups() []groupLook {
	add := func(label string, g *shard.Group, s *shard.Shard) {
		gl := groupLook{label: label, group: g, stats: g.Stats(), status: l.Survey.GroupStatus(label, g, s), counts: g.Counts(), shard: s}
		if s != nil {
			gl.sched = s.Machine().Sched().Stats()
		}
		l.replicas = append(l.replicas, gl)
	}
	if l.replicas == nil {
		for _, s := range l.Shards() {
			add(strconv.Itoa(int(s.ID())), s.Group(), s)
		}
		add("meta", l.MetaGroup, nil)
	}
	return l.replicas
}

// eachGroup calls yield for each replica, the meta group's included.
func (l *look) eachGroup(yield func(g *groupLook, labels ...string)) {
	all := l.groups()
	for i := range all {
		yield(&all[i], all[i].label)
	}
}

// eachShard calls yield for each replica of a shard.
func (l *look) eachShard(yield func(g *groupLook, labels ...string)) {
	all := l.groups()
	for i := range all[:len(all)-1] {
		yield(&all[i], all[i].label)
	}
}

// metricTables are all metrics, in the order of a scrape and of the
// documentation.
var metricTables = []struct {
	title string
	rows  []metric
}{
	{"The node", slices.Concat(nodeMetrics, shared("raft", "lockstep_", raftRows))},
	{"Raft", slices.Concat(sharedOf("raft", "lockstep_", ofGroup, groupRows, (*look).eachGroup), raftMetrics)},
	{"Execution and locks", slices.Concat(sharedOf("raft", "lockstep_", ofGroup, shardRows, (*look).eachShard),
		sharedOf("locks", "lockstep_", ofGroup, lockRows, (*look).eachShard), executionMetrics)},
	{"Clients and routing", slices.Concat(clientMetrics, shared("clients", "lockstep_", clientRows), shared("stats", "lockstep_", statsRows))},
	{"Memory, disk and process", slices.Concat(shared("memory", "lockstep_", memoryRows), processMetrics)},
	{"The names of redis_exporter", slices.Concat(redisMetrics, redisNames())},
}

// MetricsPage is the current page of metrics.
func (r *Report) MetricsPage() []byte {
	l, page := r.look(), &metrics.Page{}
	for _, table := range metricTables {
		for i := range table.rows {
			page.Begin(&table.rows[i].Desc)
			table.rows[i].read(l, page)
		}
	}
	return page.Bytes()
}

// ServeMetrics answers a scrape.
func (r *Report) ServeMetrics(w http.ResponseWriter, req *http.Request) {
	page, ok := r.scrapes.page(req.Context(), r.MetricsPage)
	if !ok {
		return // the scraper has closed the connection
	}
	w.Header().Set("Content-Type", metrics.ContentType)
	// The deadline bounds the wait for a scraper that does not read the page.
	answer := http.NewResponseController(w)
	_ = answer.SetWriteDeadline(time.Now().Add(scrapeWriteWait))
	_, _ = w.Write(page)
	_ = answer.Flush()
	// The connection may next be used for something else.
	_ = answer.SetWriteDeadline(time.Time{})
}

// scrapeWriteWait bounds how long a scraper may take for a page.
const scrapeWriteWait = 30 * time.Second

// one reads a metric with a single series.
func one[N int | int64 | uint64 | float64](value func(*look) N) func(*look, *metrics.Page) {
	return func(l *look, p *metrics.Page) { p.Add(float64(value(l))) }
}

// perGroup reads a metric with one series for each replica, the meta group's
// included.
func perGroup[N int | int64 | uint64 | float64](value func(*groupLook) N) func(*look, *metrics.Page) {
	return func(l *look, p *metrics.Page) {
		l.eachGroup(func(g *groupLook, labels ...string) { p.Add(float64(value(g)), labels...) })
	}
}

// perShard reads a metric with one series for each replica of a shard.
func perShard[N int | int64 | uint64 | float64](value func(*groupLook) N) func(*look, *metrics.Page) {
	return func(l *look, p *metrics.Page) {
		l.eachShard(func(g *groupLook, labels ...string) { p.Add(float64(value(g)), labels...) })
	}
}

// yes is 1 for true.
func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

// scrapesMax is how many pages of metrics are made in parallel. The port asks for no password, and
// the time that pages take is missing for clients.
const scrapesMax = 2

// scrapes limits how many pages are made in parallel.
type scrapes chan struct{}

func newScrapes() scrapes { return make(scrapes, scrapesMax) }

// page makes a page when a place is free. It returns false if ctx ends before that.
func (s scrapes) page(ctx context.Context, build func() []byte) ([]byte, bool) {
	select {
	case s <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-s }()
	return build(), true
}
