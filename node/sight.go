package node

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"lockstep/cluster/caught"
	"lockstep/cluster/leaders"
	"lockstep/cluster/meta"
	"lockstep/cluster/placement"
	"lockstep/node/member"
	"lockstep/node/page"
	"lockstep/node/process"
)

// kindSight asks a node what the page shows of it, between nodes. Payload: of how
// many seconds samples are wanted, in decimal; 0: none, but all the rest.
// Answer: JSON of a page.Told.
const kindSight uint8 = 36

const (
	// sightEvery is how often a node looks at itself.
	sightEvery = time.Second
	// sightTimeout is how long a node may take to tell.
	sightTimeout = statusTimeout
	// placementFor is for how long a report on placement is shown: its forecast
	// costs time.
	placementFor = 5 * time.Second
)

// sight is what a node remembers for the page.
type sight struct {
	history page.History
	changes page.Changes

	mu        sync.Mutex
	placement *placement.Report
	placed    time.Time
}

// watchSight looks once a second at what was done and who leads the meta group,
// until the node stops. It reads counters; no command waits for it, or does more because of it.
func (n *Node) watchSight() {
	t := time.NewTicker(sightEvery)
	defer t.Stop()
	before := n.countersNow()
	n.seeMetaLeader()
	for {
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
		now := n.countersNow()
		n.sight.history.Add(page.Between(before, now))
		n.seeMetaLeader()
		before = now
	}
}

func (n *Node) countersNow() *page.Counters {
	c := &page.Counters{At: time.Now(), Ops: n.stats.Commands(), Unknown: n.Router.Counters.Unknown.Load(), Times: n.stats.Times(), Syncs: n.timings.sync.Look()}
	for _, s := range n.Shards() {
		c.Waits += s.Machine().Sched().Stats().Waited
	}
	return c
}

// seeLeader notes who leads a shard, as soon as it is heard.
func (n *Node) seeLeader(shard int, l leaders.Leadership) {
	if node, ok := n.Machine.View().ByIncarnation(l.Node); ok {
		n.sight.changes.See(time.Now().UnixMilli(), member.GroupName(uint32(shard)), l.Term, node.Name)
	}
}

// seeMetaLeader notes who leads the meta group.
func (n *Node) seeMetaLeader() {
	if st := n.MetaGroup.Stats(); st.LeaderID != "" {
		n.sight.changes.See(time.Now().UnixMilli(), member.GroupName(meta.GroupID), st.Term, n.NameOf(string(st.LeaderID)))
	}
}

// told is what this node tells; seconds as in a request.
func (n *Node) told(seconds int) page.Told {
	t := page.Told{ID: string(n.Self.ID()), NowMs: time.Now().UnixMilli()}
	if seconds > 0 {
		t.Series = n.sight.history.Last(seconds)
		t.Series.Boot = n.Boot
		return t
	}
	t.MemoryBytes, t.MaxMemoryBytes = process.MemoryMost(), n.cfg.Current().Engine.MemoryBytesMax
	t.DiskFreeBytes, t.DiskBytes, _ = process.Disk(n.Folder.Dir())
	t.DiskSlow, t.Unknown = n.sight.history.Recent()
	t.Changes = n.sight.changes.All()
	n.tellLed(&t)
	return t
}

// tellLed tells of the groups that this node leads, and of the locks there.
func (n *Node) tellLed(t *page.Told) {
	leads := map[int]bool{}
	for _, s := range n.Shards() {
		st := s.Group().Stats()
		if st.Role != "leader" {
			continue
		}
		leads[int(s.ID())] = true
		t.Led = append(t.Led, page.Led{Group: member.GroupName(s.ID()), Term: st.Term, Voters: st.Voters, Answering: n.answering(s.Group(), &st), Keys: keysOf(s)})
		for _, h := range s.Machine().Sched().Hottest(hottestShown) {
			t.Hot = append(t.Hot, page.Hot{Shard: int(s.ID()), Slot: int(h.Slot), Waited: h.Waited, WaitUs: h.WaitNs / 1000})
		}
	}
	if st := n.MetaGroup.Stats(); st.Role == "leader" {
		t.Led = append(t.Led, page.Led{Group: member.GroupName(meta.GroupID), Term: st.Term, Voters: st.Voters, Answering: n.answering(n.MetaGroup, &st)})
	}
	for _, l := range n.LockSlots() {
		if leads[l.Shard] {
			t.Locks = append(t.Locks, page.Lock{Shard: l.Shard, Slot: l.Slot, Mode: l.Mode, Holders: l.Holders, HeldBy: l.Labels, Readers: l.Readers, Writers: l.Writers, Queue: l.Queue})
		}
	}
	t.Locks, t.Hot = page.MostWaitedFor(t.Locks, t.Hot)
}

func (n *Node) serveSight(payload []byte, reply func([]byte)) {
	seconds, err := strconv.Atoi(string(payload))
	if err != nil || !n.Ready.Load() {
		reply(nil)
		return
	}
	t := n.told(seconds)
	data, err := json.Marshal(&t)
	if err != nil {
		data = nil
	}
	reply(data)
}

// askSight asks all nodes; those that do not answer have told nothing.
func (n *Node) askSight(ctx context.Context, nodes []meta.Node, seconds int) []page.Told {
	ctx, cancel := context.WithTimeout(ctx, sightTimeout)
	defer cancel()
	all := make([]page.Told, len(nodes))
	var wait caught.Group
	for i, known := range nodes {
		wait.Go(func() {
			if known.ID == n.Self.ID() {
				all[i] = n.told(seconds)
				return
			}
			answer, err := n.Transport.Call(ctx, known.PeerAddr, kindSight, strconv.AppendInt(nil, int64(seconds), 10))
			if err == nil {
				err = json.Unmarshal(answer, &all[i])
			}
			if err != nil || all[i].ID != string(known.ID) {
				all[i] = page.Told{ID: string(known.ID)}
			}
			all[i].ByClock(time.Now().UnixMilli())
		})
	}
	wait.Wait()
	return all
}

// placementLately is a report on placement that is a few seconds old at most, nil
// if there is none.
func (n *Node) placementLately(ctx context.Context) *placement.Report {
	n.sight.mu.Lock()
	defer n.sight.mu.Unlock()
	if time.Since(n.sight.placed) >= placementFor {
		ctx, cancel := context.WithTimeout(ctx, sightTimeout)
		defer cancel()
		r, err := placement.Ask(ctx, n.Courier)
		if err != nil {
			r = nil
		}
		n.sight.placement, n.sight.placed = r, time.Now()
	}
	return n.sight.placement
}

// pageSource is the page.Source of a node.
type pageSource struct{ n *Node }

// Ready implements page.Source.
func (p pageSource) Ready() bool { return p.n.Ready.Load() }

// State implements page.Source.
func (p pageSource) State(ctx context.Context) *page.State {
	nodes := p.n.Machine.View().Nodes
	var told []page.Told
	var report *placement.Report
	var wait caught.Group
	wait.Go(func() { told = p.n.askSight(ctx, nodes, 0) })
	wait.Go(func() { report = p.n.placementLately(ctx) })
	cluster := p.n.Status(ctx)
	wait.Wait()
	s := page.Compose(time.Now().UnixMilli(), cluster, told, report)
	admin := map[string]string{}
	for _, node := range nodes {
		admin[string(node.ID)] = node.AdminAddr
	}
	s.Addresses(admin)
	return s
}

// Series implements page.Source.
func (p pageSource) Series(ctx context.Context, seconds int) []page.NodeSeries {
	nodes := p.n.Machine.View().Nodes
	told := p.n.askSight(ctx, nodes, seconds)
	all := make([]page.NodeSeries, len(nodes))
	for i, node := range nodes {
		all[i] = page.NodeSeries{ID: string(node.ID), Name: node.Name, Series: told[i].Series}
	}
	return all
}
