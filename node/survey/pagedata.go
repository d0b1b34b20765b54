package survey

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"lockstep/cluster/leaders"
	"lockstep/cluster/meta"
	"lockstep/cluster/placement"
	"lockstep/ground/caught"
	"lockstep/node/member"
	"lockstep/node/page"
	"lockstep/node/process"
)

// KindPageData asks a node for the data that the page shows about it. The payload is, in decimal, for
// how many seconds samples are wanted; 0 asks for everything except samples. The answer is JSON of
// a page.NodeReport.
const KindPageData uint8 = 36

const (
	// sampleEvery is how often a node takes a sample.
	sampleEvery = time.Second
	// pageDataTimeout is how long a node may take to answer.
	pageDataTimeout = Timeout
	// placementFor is how long a report on placement is shown again, because its forecast takes
	// time.
	placementFor = 5 * time.Second
)

// Watch takes a sample once a second and checks who leads the meta group, until the node stops. It
// only reads counters, so it delays no command and adds no work to any.
func (v *Survey) Watch() {
	t := time.NewTicker(sampleEvery)
	defer t.Stop()
	before := v.countersNow()
	v.seeMetaLeader()
	for {
		select {
		case <-t.C:
		case <-v.Ctx.Done():
			return
		}
		now := v.countersNow()
		v.history.Add(page.Between(before, now))
		v.seeMetaLeader()
		before = now
	}
}

func (v *Survey) countersNow() *page.Counters {
	c := &page.Counters{At: time.Now(), Ops: v.Stats.Commands(), Unknown: v.Router.Counters.Unknown.Load(), Times: v.Stats.Times(), Syncs: v.Timings.Sync.Look()}
	for _, s := range v.Shards() {
		c.Waits += s.Machine().Sched().Stats().Waited
	}
	return c
}

// SeeLeader records who leads a shard, as soon as this node learns it.
func (v *Survey) SeeLeader(shard int, l leaders.Leadership) {
	if node, ok := v.Machine.View().ByIncarnation(l.Node); ok {
		v.changes.See(time.Now().UnixMilli(), member.GroupName(uint32(shard)), l.Term, node.Name)
	}
}

// seeMetaLeader records who leads the meta group.
func (v *Survey) seeMetaLeader() {
	if st := v.MetaGroup.Stats(); st.LeaderID != "" {
		v.changes.See(time.Now().UnixMilli(), member.GroupName(meta.GroupID), st.Term, v.NameOf(string(st.LeaderID)))
	}
}

// nodeReport is this node's answer to KindPageData for a number of seconds.
func (v *Survey) nodeReport(seconds int) page.NodeReport {
	t := page.NodeReport{ID: string(v.Self.ID()), NowMs: time.Now().UnixMilli()}
	if seconds > 0 {
		t.Series = v.history.Last(seconds)
		t.Series.Boot = v.Boot
		return t
	}
	t.MemoryBytes, t.MaxMemoryBytes = process.MemoryMost(), v.Config.Current().Engine.MemoryBytesMax
	t.DiskFreeBytes, t.DiskBytes, _ = process.Disk(v.Folder.Dir())
	t.DiskSlow, t.Unknown = v.history.Recent()
	t.Changes = v.changes.All()
	v.addLed(&t)
	return t
}

// addLed adds the groups that this node leads, and the locks there.
func (v *Survey) addLed(t *page.NodeReport) {
	leads := map[int]bool{}
	for _, s := range v.Shards() {
		st := s.Group().Stats()
		if st.Role != "leader" {
			continue
		}
		leads[int(s.ID())] = true
		t.Led = append(t.Led, page.Led{Group: member.GroupName(s.ID()), Term: st.Term, Voters: st.Voters, Answering: v.Answering(s.Group(), &st), Keys: keysOf(s)})
		for _, h := range s.Machine().Sched().Hottest(HottestShown) {
			t.Hot = append(t.Hot, page.Hot{Shard: int(s.ID()), Slot: int(h.Slot), Waited: h.Waited, WaitUs: h.WaitNs / 1000})
		}
	}
	if st := v.MetaGroup.Stats(); st.Role == "leader" {
		t.Led = append(t.Led, page.Led{Group: member.GroupName(meta.GroupID), Term: st.Term, Voters: st.Voters, Answering: v.Answering(v.MetaGroup, &st)})
	}
	for _, l := range v.LockSlots() {
		if leads[l.Shard] {
			t.Locks = append(t.Locks, page.Lock{Shard: l.Shard, Slot: l.Slot, Mode: l.Mode, Holders: l.Holders, HeldBy: l.Labels, Readers: l.Readers, Writers: l.Writers, Queue: l.Queue})
		}
	}
	t.Locks, t.Hot = page.MostWaitedFor(t.Locks, t.Hot)
}

// ServePageData answers KindPageData.
func (v *Survey) ServePageData(payload []byte, reply func([]byte)) {
	seconds, err := strconv.Atoi(string(payload))
	if err != nil || !v.Ready.Load() {
		reply(nil)
		return
	}
	t := v.nodeReport(seconds)
	data, err := json.Marshal(&t)
	if err != nil {
		data = nil
	}
	reply(data)
}

// askPageData asks all nodes. The entry of a node that does not answer is empty.
func (v *Survey) askPageData(ctx context.Context, nodes []meta.Node, seconds int) []page.NodeReport {
	ctx, cancel := context.WithTimeout(ctx, pageDataTimeout)
	defer cancel()
	all := make([]page.NodeReport, len(nodes))
	var wait caught.Group
	for i, known := range nodes {
		wait.Go(func() {
			if known.ID == v.Self.ID() {
				all[i] = v.nodeReport(seconds)
				return
			}
			answer, err := v.Transport.Call(ctx, known.PeerAddr, KindPageData, strconv.AppendInt(nil, int64(seconds), 10))
			if err == nil {
				err = json.Unmarshal(answer, &all[i])
			}
			if err != nil || all[i].ID != string(known.ID) {
				all[i] = page.NodeReport{ID: string(known.ID)}
			}
			all[i].ByClock(time.Now().UnixMilli())
		})
	}
	wait.Wait()
	return all
}

// placementLately returns a report on placement that is at most a few seconds old, or nil if there
// is none.
func (v *Survey) placementLately(ctx context.Context) *placement.Report {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.placed) >= placementFor {
		ctx, cancel := context.WithTimeout(ctx, pageDataTimeout)
		defer cancel()
		r, err := placement.Ask(ctx, v.LeaderRPC)
		if err != nil {
			r = nil
		}
		v.placement, v.placed = r, time.Now()
	}
	return v.placement
}

// Page is the source of all that the page of the admin port shows.
func (v *Survey) Page() page.Source { return pageSource{v} }

// pageSource is the page.Source of a node.
type pageSource struct{ v *Survey }

// Ready implements page.Source.
func (p pageSource) Ready() bool { return p.v.Ready.Load() }

// State implements page.Source.
func (p pageSource) State(ctx context.Context) *page.State {
	nodes := p.v.Machine.View().Nodes
	var reports []page.NodeReport
	var report *placement.Report
	var wait caught.Group
	wait.Go(func() { reports = p.v.askPageData(ctx, nodes, 0) })
	wait.Go(func() { report = p.v.placementLately(ctx) })
	cluster := p.v.Status(ctx)
	wait.Wait()
	s := page.Compose(time.Now().UnixMilli(), cluster, reports, report)
	admin := map[string]string{}
	for _, node := range nodes {
		admin[string(node.ID)] = node.AdminAddr
	}
	s.Addresses(admin)
	return s
}

// Series implements page.Source.
func (p pageSource) Series(ctx context.Context, seconds int) []page.NodeSeries {
	nodes := p.v.Machine.View().Nodes
	reports := p.v.askPageData(ctx, nodes, seconds)
	all := make([]page.NodeSeries, len(nodes))
	for i, node := range nodes {
		all[i] = page.NodeSeries{ID: string(node.ID), Name: node.Name, Series: reports[i].Series}
	}
	return all
}
