package clusterctl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/cmd/clusterctl/doctor"
	"lockstep/tests/kit/proc"
)

// near is the maximum difference of two times that count as equal.
const near = 2 * time.Second

// clocks is the output of `clusterctl clock`.
type clocks struct {
	LimitMs int64            `json:"clock_limit_ms"`
	Nodes   []nodeClock      `json:"nodes"`
	Shards  []map[string]any `json:"shards"`
}

type nodeClock struct {
	Node      string  `json:"node"`
	Reachable bool    `json:"reachable"`
	OffMs     float64 `json:"off_ms"`
	Wrong     bool    `json:"wrong"`
}

// dayAhead is how far the time of day of the shard is ahead of this machine's.
func dayAhead(t *testing.T, addr string) time.Duration {
	t.Helper()
	proc.MustAsk(t, addr, "DEL", "days") // because a stream's ids never go back
	id := proc.MustAsk(t, addr, "XADD", "days", "*", "f", "v")
	ms, err := strconv.ParseInt(strings.Split(id, "-")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(time.UnixMilli(ms))
}

func isNear(a, b time.Duration) bool { return (a - b).Abs() < near }

// A wrong clock is reported, and its node gives up its leadership. If all clocks were ahead and so
// the cluster's times are in the future, an order sets them back at once, and no time to live
// changes.
func TestClocksAreShownAndTheTimeOfDayIsSet(t *testing.T) {
	t.Parallel()
	program := proc.ClockedLockstepd(t)
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1, Before: func(n *proc.Node) { n.Become(program) }})
	bad := c.WaitLeader()
	other := c.Follower()
	proc.MustAsk(t, other.Addr(), "SET", "k", "v", "PX", "600000")
	began := time.Now()
	setClocks(t, time.Hour, bad)
	wrongClockIsTold(t, bad, other)
	if ahead := dayAhead(t, other.Addr()); !isNear(ahead, 0) {
		t.Errorf("with one wrong clock the time of day is %v ahead", ahead)
	}

	setClocks(t, time.Hour, c.Nodes...)
	proc.Wait(t, patience, "the time of day is that of all clocks", func() bool { return isNear(dayAhead(t, other.Addr()), time.Hour) })
	goesOnTime(t, other.Addr(), time.Hour)
	setClocks(t, 0, c.Nodes...)
	proc.Wait(t, patience, "the order is done", func() bool {
		out, code := proc.Ctl(t, other.Addr(), "clock", "adopt")
		if code == 0 && !strings.Contains(out, "the time of day of shard 0") {
			t.Errorf("it said %s", out)
		}
		return code == 0 && isNear(dayAhead(t, other.Addr()), 0)
	})
	left, err := strconv.Atoi(proc.MustAsk(t, other.Addr(), "PTTL", "k"))
	if want := 10*time.Minute - time.Since(began); err != nil || !isNear(time.Duration(left)*time.Millisecond, want) {
		t.Errorf("the key has %d ms left, want %v; %v", left, want, err)
	}
	goesOnTime(t, other.Addr(), 0)
}

// goesOnTime checks that a key expires at its time of day, by clocks that are ahead.
func goesOnTime(t *testing.T, addr string, ahead time.Duration) {
	t.Helper()
	due := time.Now().Add(time.Second)
	proc.MustAsk(t, addr, "SET", "soon", "v", "PXAT", fmt.Sprint(due.Add(ahead).UnixMilli()))
	proc.Wait(t, patience, "what is due soon is gone", func() bool { return proc.MustAsk(t, addr, "EXISTS", "soon") == "0" })
	if early := time.Until(due); early > near/4 || early < -2*near {
		t.Errorf("with clocks that are %v ahead it went %v before its time", ahead, early)
	}
}

func setClocks(t *testing.T, ahead time.Duration, nodes ...*proc.Node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.SetClock(ahead, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// wrongClockIsTold checks that clock, INFO and doctor report the clock that is an hour ahead, and
// that its node gives up its leadership.
func wrongClockIsTold(t *testing.T, bad, other *proc.Node) {
	t.Helper()
	proc.Wait(t, patience, "its clock is wrong and it leads no more", func() bool {
		said := proc.Info(bad.Addr(), "raft")
		return said["raft_role"] == "follower" && said["clock_wrong"] == "1"
	})
	proc.Wait(t, patience, "the clocks are shown", func() bool {
		var said clocks
		jsonOf(t, &said, other.Addr(), "clock")
		return slices.ContainsFunc(said.Nodes, func(n nodeClock) bool {
			return n.Node == bad.Name && n.Wrong && isNear(time.Duration(n.OffMs)*time.Millisecond, time.Hour)
		})
	})
	var report doctor.Report
	jsonOf(t, &report, other.Addr(), "doctor")
	if !slices.ContainsFunc(report.Findings, func(f doctor.Finding) bool { return f.Check == "clock" && f.Node == bad.Name }) {
		t.Errorf("doctor: %+v", report.Findings)
	}
}
