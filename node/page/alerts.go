package page

import (
	"fmt"
	"strconv"
	"time"

	"lockstep/node/status"
)

// Levels of an Alert.
const (
	// Critical means that part of the cluster is not served, or that the next failure will stop it.
	Critical = "critical"
	// Warning means that an operator should look at it.
	Warning = "warning"
)

// Alert is a text about something that needs an operator's attention.
type Alert struct {
	Level string `json:"level"`
	Text  string `json:"text"`
	// Nodes are the names of the nodes that the alert is about, if it is about nodes.
	Nodes []string `json:"nodes,omitempty"`
}

// The limits are those of the alert rules in deploy/monitoring.
const (
	diskFreeLeast   = 0.2
	memoryUsedMost  = 0.95
	lagMost         = 10_000
	changesMost     = 3
	changesWithinMs = int64(15 * time.Minute / time.Millisecond)
	msPerHour       = int64(time.Hour / time.Millisecond)
	backupAgeMostMs = 36 * msPerHour
	alertsShown     = 64
)

const metaName = "meta"

func shardName(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// fillAlerts fills in the alerts.
func (s *State) fillAlerts(c *status.Cluster, reports map[string]*NodeReport) {
	s.Alerts = []Alert{}
	level := Warning
	if c.Health == status.NoQuorum {
		level = Critical
	}
	for _, why := range c.Reasons {
		s.alert(level, "%s", why)
	}
	if age := s.NowMs - c.LastBackupMs; c.LastBackupMs != 0 && age > backupAgeMostMs {
		s.alert(Warning, "the newest backup is %d hours old", age/msPerHour)
	}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.ClockWrong() {
			s.Alerts = append(s.Alerts, Alert{Warning, fmt.Sprintf("the clock is %.0f ms off what most nodes say", n.ClockOffMs), []string{n.Name}})
		}
	}
	s.alertOnGroups()
	for i := range s.Nodes {
		if t := reports[s.Nodes[i].ID]; t != nil && s.Nodes[i].Reachable {
			s.alertOnNode(&s.Nodes[i], t)
		}
	}
	rank(s.Alerts)
	s.Alerts = s.Alerts[:min(len(s.Alerts), alertsShown)]
}

func (s *State) alert(level, format string, args ...any) {
	s.Alerts = append(s.Alerts, Alert{Level: level, Text: fmt.Sprintf(format, args...)})
}

// warn adds a node to the warning with this text, and creates the warning if there is none.
func (s *State) warn(n *Node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for i := range s.Alerts {
		if a := &s.Alerts[i]; a.Text == text && a.Nodes != nil {
			a.Nodes = append(a.Nodes, n.Name)
			return
		}
	}
	s.Alerts = append(s.Alerts, Alert{Warning, text, []string{n.Name}})
}

func (s *State) alertOnGroups() {
	changes := map[string]int{}
	for _, c := range s.Changes {
		if c.AtMs > s.NowMs-changesWithinMs {
			changes[c.Group]++
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if quorum := g.Voters/2 + 1; g.Leader != "" && g.Voters > 1 && g.Answering > 0 && g.Answering <= quorum {
			s.alert(Critical, "quorum at risk: %d of %d voters of %s answer; the next failure stops it", g.Answering, g.Voters, status.GroupTitle(g.Name))
		}
		if n := changes[g.Name]; n > changesMost {
			s.alert(Warning, "%s has changed its leader %d times in a quarter of an hour", status.GroupTitle(g.Name), n)
		}
	}
}

func (s *State) alertOnNode(n *Node, t *NodeReport) {
	if n.DiskBytes > 0 && float64(n.DiskFreeBytes) < diskFreeLeast*float64(n.DiskBytes) {
		s.warn(n, "the disk is %d%% full", 100-100*n.DiskFreeBytes/n.DiskBytes)
	}
	if n.MaxMemoryBytes > 0 && float64(n.UsedBytes) > memoryUsedMost*float64(n.MaxMemoryBytes) {
		s.warn(n, "the data takes %d%% of maxmemory", 100*n.UsedBytes/n.MaxMemoryBytes)
	}
	if n.Lag > lagMost {
		s.warn(n, "%d entries are committed and have not run", n.Lag)
	}
	if t.DiskSlow {
		s.warn(n, "the disk is slow: most syncs of the last minute took more than %d ms", slowSyncUs/1000)
	}
	if t.Unknown > 0 {
		s.warn(n, "%d calls were answered with INDETERMINATE in the last five minutes: they may or may not have run", t.Unknown)
	}
}
