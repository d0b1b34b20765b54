package page

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/node/page"
	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

// patience bounds the waits for changes that a healthy cluster makes by itself.
const patience = 2 * time.Minute

// world is a cluster of three nodes with two shards, and the addresses of its pages.
type world struct {
	*proc.Cluster
	pages []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.Cluster = proc.NewCluster(t, 3, proc.Options{Shards: 2, Before: func(n *proc.Node) {
		port := proc.FreePort(t)
		n.Flags("--admin-port", strconv.Itoa(port))
		w.pages = append(w.pages, fmt.Sprintf("http://127.0.0.1:%d", port))
	}})
	return w
}

func get(address string) (*http.Response, string, error) {
	client := http.Client{Timeout: patience}
	res, err := client.Get(address)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

// fetch reads JSON from an address.
func fetch(address string, into any) error {
	res, body, err := get(address)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s is %s: %s", address, res.Status, body)
	}
	if err == nil {
		err = json.Unmarshal([]byte(body), into)
	}
	return err
}

// state returns the state that the page of a node shows.
func (w *world) state(t *testing.T, i int) *page.State {
	t.Helper()
	var s page.State
	if err := fetch(w.pages[i]+"/ui/state", &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func (w *world) ask(t *testing.T, i int, args ...string) string {
	t.Helper()
	said, err := proc.Ask(w.Nodes[i].Addr(), args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return said
}

// leaderOf waits until the leaders are spread. It returns the leader of a shard according to node
// 0, and a node that leads no shard. If that node gets the shard, the balancing leaves it there.
func (w *world) leaderOf(t *testing.T, shard int) (leader, idle string) {
	t.Helper()
	proc.Wait(t, patience, "the shards have leaders, not all the same", func() bool {
		s := w.state(t, 0)
		leader, idle = s.Groups[shard].Leader, ""
		for _, n := range s.Nodes {
			if n.Reachable && n.Leads == 0 {
				idle = n.Name
			}
		}
		return leader != "" && idle != "" && s.Groups[0].Leader != s.Groups[1].Leader
	})
	return leader, idle
}

// transfer moves a shard's leadership to another node. It tries again if that is refused.
func (w *world) transfer(t *testing.T, shard int, to string) {
	t.Helper()
	var err error
	if !proc.Poll(patience, func() bool {
		_, err = proc.Ask(w.Nodes[0].Addr(), "LOCKSTEP", "TRANSFER", strconv.Itoa(shard), to)
		return err == nil
	}) {
		t.Fatal(err)
	}
}

func TestPageTellsTheWholeCluster(t *testing.T) {
	proc.NeedProcesses(t)
	w := newWorld(t)
	t.Run("state", w.testState)
	t.Run("series", w.testSeries)
	t.Run("changes of leaders", w.testChanges)
	t.Run("locks", w.testLocks)
	t.Run("chromium", w.testChromium)
	t.Run("a node is lost", w.testLost)
}

func (w *world) testState(t *testing.T) {
	for i := range 10 {
		w.ask(t, 0, "SET", "secret-key-"+strconv.Itoa(i), "secret-value")
	}
	for i := range w.pages {
		var s *page.State
		proc.Wait(t, patience, "the page shows three nodes that are well", func() bool {
			s = w.state(t, i)
			keys := int64(0)
			for _, g := range s.Groups {
				keys += g.Keys
			}
			return s.Health == "healthy" && len(s.Nodes) == 3 && len(s.Groups) == 3 && len(unwell(s)) == 0 && keys == 10 && allTold(s) && allAnswer(s)
		})
		if s.Seen != w.Nodes[i].Name || s.Groups[0].FirstSlot != 0 || s.Groups[1].LastSlot != 16383 || s.Groups[2].Name != "meta" {
			t.Errorf("%+v", s)
		}
		for _, n := range s.Nodes {
			at := strings.TrimPrefix(w.pages[w.indexOf(t, n.Name)], "http://")
			if !n.Reachable || n.Replicas != 2 || n.DiskBytes == 0 || n.DiskFreeBytes == 0 || n.MemoryBytes == 0 || n.RSSBytes == 0 || n.AdminAddr != at || n.Version == "" {
				t.Errorf("%+v", n)
			}
		}
		for _, g := range s.Groups {
			if g.Leader == "" || g.Voters != 3 || g.Answering != 3 || len(g.Replicas) != 3 {
				t.Errorf("%+v", g)
			}
		}
		for _, path := range []string{"/", "/ui/state", "/ui/series"} {
			if _, body, err := get(w.pages[i] + path); err != nil || strings.Contains(body, "secret") {
				t.Errorf("%s: %v; it has a key or a value: %s", path, err, body)
			}
		}
	}
}

// allTold reports whether the state has every node's report on its machine.
func allTold(s *page.State) bool {
	for _, n := range s.Nodes {
		if n.MemoryBytes == 0 {
			return false
		}
	}
	return true
}

// allAnswer reports whether every group has a leader that has heard from all voters lately.
func allAnswer(s *page.State) bool {
	return !slices.ContainsFunc(s.Groups, func(g page.Group) bool { return g.Leader == "" || g.Answering < len(g.Replicas) })
}

// unwell returns the alerts without those on the disk. The machine's disk may be full or slow.
func unwell(s *page.State) (alerts []string) {
	for _, a := range s.Alerts {
		if !strings.HasPrefix(a.Text, "the disk is ") {
			alerts = append(alerts, a.Text)
		}
	}
	return alerts
}

func (w *world) indexOf(t *testing.T, name string) int {
	t.Helper()
	for i, n := range w.Nodes {
		if n.Name == name {
			return i
		}
	}
	t.Fatalf("no node is called %s", name)
	return 0
}

func (w *world) testSeries(t *testing.T) {
	began := time.Now()
	proc.Wait(t, patience, "all nodes' samples show commands and syncs", func() bool {
		for i := range w.Nodes {
			w.ask(t, i, "SET", "a", "1")
		}
		for _, n := range w.series(t, "") {
			if n.Series == nil || !worked(n.Series) {
				return false
			}
		}
		return true
	})
	proc.Wait(t, patience, "all tell of the last half minute", func() bool {
		for _, n := range w.series(t, "?recent") {
			if n.Series == nil || len(n.Series.AtMs) == 0 || len(n.Series.AtMs) > 30 {
				return false
			}
			if newest := time.UnixMilli(n.Series.AtMs[len(n.Series.AtMs)-1]); newest.Before(began) || newest.After(time.Now().Add(time.Second)) {
				return false
			}
		}
		return true
	})
}

// series returns the samples of the three nodes, as the second node reports them.
func (w *world) series(t *testing.T, query string) []page.NodeSeries {
	t.Helper()
	var all []page.NodeSeries
	if err := fetch(w.pages[1]+"/ui/series"+query, &all); err != nil || len(all) != 3 {
		t.Fatalf("%v %v", err, all)
	}
	return all
}

// worked reports whether the samples have a second in which commands ran and the log was synced.
func worked(s *page.Series) bool {
	for i, ops := range s.Ops {
		if ops > 0 && s.P99Us[i] >= s.P50Us[i] && s.P50Us[i] >= 0 && s.SyncUs[i] > 0 {
			return true
		}
	}
	return false
}

func (w *world) testChanges(t *testing.T) {
	_, to := w.leaderOf(t, 0)
	w.transfer(t, 0, to)
	for i := range w.pages {
		proc.Wait(t, patience, "the page tells who leads now, and who did", func() bool {
			s := w.state(t, i)
			for _, c := range s.Changes {
				// A leader that was being moved when the test began may have led for a moment.
				if c.Group == "0" && c.From != "" && c.To == to && c.Term > 0 {
					return true
				}
			}
			return false
		})
	}
}

// busy keeps a lock slot of a shard busy until stop is called: slow scripts hold it, and other
// writes of their key wait for it.
func (w *world) busy(t *testing.T) (stop func()) {
	t.Helper()
	const slow = "#!lua flags=allow-key-locking\nfor i=1,3e5 do end return redis.call('INCR',KEYS[1])"
	clients := [][]string{{"EVAL", slow, "1", "busy"}, {"INCR", "busy"}, {"INCR", "busy"}}
	end, ended := make(chan struct{}), make(chan struct{})
	for _, command := range clients {
		go func() {
			defer func() { ended <- struct{}{} }()
			for {
				select {
				case <-end:
					return
				default:
					_, _ = proc.Ask(w.Nodes[0].Addr(), command...)
				}
			}
		}()
	}
	return func() {
		close(end)
		for range clients {
			<-ended
		}
	}
}

func (w *world) testLocks(t *testing.T) {
	stop := w.busy(t)
	defer stop()
	proc.Wait(t, patience, "a lock slot is held by a script, which is named, and waited for by another write", func() bool {
		for _, l := range w.state(t, 2).Locks {
			if l.Writers > 0 && len(l.HeldBy) > 0 && strings.HasPrefix(l.HeldBy[0], "eval ") && l.Queue[0] == "incr" {
				return true
			}
		}
		return false
	})
	proc.Wait(t, patience, "and is hot", func() bool {
		hot := w.state(t, 2).Hot
		return len(hot) > 0 && hot[0].Waited > 0 && hot[0].WaitUs > 0
	})
}

// overflow is the number of pixels by which the page is wider than its window.
const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

func (w *world) testChromium(t *testing.T) {
	b := openBrowser(t)
	for _, look := range []struct {
		width int
		dark  bool
	}{{360, false}, {360, true}, {1280, false}} {
		p := b.open(w.pages[0]+"/", look.width, look.dark)
		p.await("three nodes that are well", "document.querySelectorAll('#nodes > li:not(.gone)').length === 3 && document.getElementById('health').textContent.includes('Healthy')")
		p.await("three lines in each of four charts", "[...document.querySelectorAll('.chart')].filter(c => c.querySelectorAll('path.line[d^=M]').length === 3 || c.querySelector('h3').textContent !== 'Throughput').length === 4")
		var wider int
		if err := p.eval(overflow, &wider); err != nil || wider > 0 {
			t.Errorf("at %d pixels the page is %d too wide (%v)", look.width, wider, err)
		}
		if look.width == 1280 {
			w.followsALeader(t, p)
			keys(t, p)
		}
		problems, asked := p.heard()
		if len(problems) > 0 {
			t.Errorf("the console has problems: %q", problems)
		}
		for _, address := range asked {
			if u, err := url.Parse(address); err != nil || "http://"+u.Host != w.pages[0] {
				t.Errorf("the page asked %s", address)
			}
		}
	}
}

// followsALeader moves a leader, and checks that the page shows that without a reload.
func (w *world) followsALeader(t *testing.T, p *tab) {
	t.Helper()
	from, to := w.leaderOf(t, 1)
	shows := func(leader string) string {
		return fmt.Sprintf("document.querySelector('#shards tbody tr:nth-child(2) td:nth-child(3)').textContent === %q", leader)
	}
	p.await("the leader of shard 1", shows(from))
	w.transfer(t, 1, to)
	p.await("the new leader", shows(to))
	p.await("the change", fmt.Sprintf("[...document.querySelectorAll('#changes li')].some(l => l.textContent.startsWith('shard 1') && l.textContent.includes('→ %s'))", to))
}

// keys moves the cursor of a chart with the keyboard, and then selects another time span.
func keys(t *testing.T, p *tab) {
	t.Helper()
	if err := p.eval("document.querySelector('.plot').focus()", nil); err != nil {
		t.Fatal(err)
	}
	p.press("ArrowLeft")
	p.await("a cross in the chart", "document.querySelectorAll('.chart .cross').length === 1")
	p.await("words for it", "document.querySelector('.chart [aria-live]').textContent.startsWith('1 seconds ago: n1 ')")
	p.press("Escape")
	p.await("none", "document.querySelectorAll('.chart .cross').length === 0")
	if err := p.eval("document.querySelector('input[value=\"60\"]').click()", nil); err != nil {
		t.Fatal(err)
	}
	p.await("a minute", "document.querySelector('.chart svg').textContent.includes('−1 min')")
}

// testLost kills a node. The pages of the other nodes show that. Its own page, which is still open
// in a browser, says that the node does not answer, and links to the others.
func (w *world) testLost(t *testing.T) {
	b := openBrowser(t)
	own, other := b.open(w.pages[2]+"/", 360, false), b.open(w.pages[0]+"/", 1280, true)
	const well = "document.querySelectorAll('#nodes > li:not(.gone)').length === 3"
	own.await("three nodes", well)
	other.await("three nodes", well)
	w.Nodes[2].Kill9()
	other.await("two nodes and a lost one", "document.querySelectorAll('#nodes > li.gone').length === 1 && document.getElementById('health').textContent.includes('Degraded')")
	other.await("quorum at risk", "document.getElementById('alerts').textContent.includes('quorum at risk: 2 of 3 voters of shard 0')")
	own.await("that nobody answers", "!document.getElementById('lost').hidden && document.getElementById('lost-text').textContent.includes('n3 cannot be reached. What you see is from')")
	own.await("links to the others", fmt.Sprintf("[...document.querySelectorAll('#elsewhere a')].map(a => a.href).join(' ') === '%s/ %s/'", w.pages[0], w.pages[1]))
	own.await("less frequent questions", "/Asking again in (4|8|16|30) s/.test(document.getElementById('lost-text').textContent)")
	var wider int
	if err := own.eval(overflow, &wider); err != nil || wider > 0 {
		t.Errorf("the page is %d too wide (%v)", wider, err)
	}
	w.Nodes[2].Start()
	w.Nodes[2].WaitReady()
	if err := own.eval("document.getElementById('again').click()", nil); err != nil {
		t.Fatal(err)
	}
	own.await("the node again", "document.getElementById('lost').hidden && "+well)
}
