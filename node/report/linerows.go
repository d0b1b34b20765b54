package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"lockstep/engine/command"
	"lockstep/node/survey"
	"lockstep/proto/stats"
)

// groupRows describe a replica of a shard or of the meta group, as Raft sees it.
var groupRows = slices.Concat(whoRows, []rowOf[groupLook]{
	show("voters", func(g *groupLook) any { return g.status.Voters }).gauge("lockstep_raft_voters", "Voters in the latest configuration."),
	show("last_index", func(g *groupLook) any { return g.status.LastIndex }).counter("lockstep_raft_last_log_index", "Index of the last entry in this replica's log."),
}, progressRows)

// whoRows and progressRows are those of groupRows that INFO raft shows of each shard.
var whoRows = []rowOf[groupLook]{
	show("role", func(g *groupLook) any { return g.status.Role }),
	show("term", func(g *groupLook) any { return g.status.Term }).counter("lockstep_raft_term", "The Raft term."),
	show("leader", func(g *groupLook) any { return g.status.Leader }),
}

var progressRows = []rowOf[groupLook]{
	show("committed", func(g *groupLook) any { return g.status.Committed }).counter("lockstep_raft_commit_index", "Index up to which this replica knows the log to be committed."),
	show("queued", func(g *groupLook) any { return g.status.Queued }),
	show("executed", func(g *groupLook) any { return g.status.Executed }).counter("lockstep_raft_executed_index", "Index up to which every transaction has run here."),
	show("lag", func(g *groupLook) any { return g.status.Lag }).gauge("lockstep_raft_lag_entries", "Committed entries, as far as this replica knows, that have not run here."),
}

// shardRows describe how a replica of a shard runs what is in its log.
var shardRows = []rowOf[groupLook]{
	show("outstanding_txns", func(g *groupLook) any { txns, _ := g.shard.Outstanding(); return txns }).gauge("lockstep_outstanding_txns", "Transactions that this replica has accepted and not answered."),
	show("outstanding_bytes", func(g *groupLook) any { _, bytes := g.shard.Outstanding(); return bytes }).gauge("lockstep_outstanding_bytes", "Bytes of the transactions that this replica has accepted and not answered."),
	show("entries", func(g *groupLook) any { return g.shard.Machine().Counters().Entries.Load() }).counter("lockstep_entries_total", "Log entries applied since the start."),
	show("txns", func(g *groupLook) any { return g.shard.Machine().Counters().Txns.Load() }).counter("lockstep_txns_total", "Transactions in those entries."),
	show("duplicates", func(g *groupLook) any { return g.shard.Machine().Counters().Duplicates.Load() }).counter("lockstep_duplicate_txns_total", "Transactions that had run before and were answered from the duplicate table."),
	show("panics", func(g *groupLook) any { return g.shard.Machine().Counters().Panics.Load() }).counter("lockstep_panics_total", "Commands that panicked and were answered with an error. Each is a bug."),
	show("day_offset_ms", func(g *groupLook) any { return g.status.DayOffsetMs }),
	show("day_ahead_ms", func(g *groupLook) any { return g.status.ClockAheadMs }).as("%.1f").gauge("lockstep_day_ahead_seconds", "On the leader: how far the shard's time of day is ahead of what a majority of its voters say; negative: behind.").in(func(g *groupLook) float64 { return g.status.ClockAheadMs / 1000 }),
	show("work_ms", func(g *groupLook) any { return workMs(g.shard.Machine().Counters().Work.Load()) }).counter("lockstep_work_seconds_total", "Core seconds of work of the log's transactions since the start, as replicas count work.").in(func(g *groupLook) float64 { return workSeconds(g.shard.Machine().Counters().Work.Load()) }),
	show("outstanding_work_ms", func(g *groupLook) any { return workMs(g.shard.ThrottleCounts().Work.Load()) }).gauge("lockstep_outstanding_work_seconds", "Estimated work of the long transactions that this leader has let into the log and that have not run.").in(func(g *groupLook) float64 { return workSeconds(g.shard.ThrottleCounts().Work.Load()) }),
	show("waiting_for_work", func(g *groupLook) any { return g.shard.ThrottleCounts().Waiting.Load() }).gauge("lockstep_work_waiting_txns", "Transactions that wait at this leader, before the log, until long ones have run."),
	show("refused_for_work", func(g *groupLook) any {
		return g.shard.ThrottleCounts().Expired.Load() + g.shard.Machine().Counters().Refused.Load()
	}),
	show("taken_back", func(g *groupLook) any { return g.shard.ThrottleCounts().TakenBack.Load() }),
}

func workMs(work int64) int64 { return work / (command.WorkSecond / 1000) }

func workSeconds(work int64) float64 { return float64(work) / command.WorkSecond }

// lockRows describe the lock slots of a replica.
var lockRows = []rowOf[groupLook]{
	show("lock_slots", func(g *groupLook) any { return g.shard.Machine().Keyspace().LockSlots() }),
	show("tickets", func(g *groupLook) any { return g.sched.Tickets }).counter("lockstep_lock_tickets_total", "Tickets taken: commands that locked slots."),
	show("waited", func(g *groupLook) any { return g.sched.Waited }).counter("lockstep_lock_waits_total", "Tickets that had to wait for a lock slot."),
	show("wait_usec", func(g *groupLook) any { return g.sched.WaitNs / 1000 }).counter("lockstep_lock_wait_seconds_total", "The sum of all waits for lock slots.").in(func(g *groupLook) float64 { return time.Duration(g.sched.WaitNs).Seconds() }),
	show("permits", func(g *groupLook) any { return g.sched.Permits }).gauge("lockstep_permits", "How many commands may run at once."),
	show("permits_in_use", func(g *groupLook) any { return g.sched.PermitsInUse }).gauge("lockstep_permits_in_use", "Commands that run now."),
	show("waiting_tickets", func(g *groupLook) any { return g.sched.WaitingTickets }).gauge("lockstep_lock_waiting_tickets", "Tickets that wait for a lock slot now."),
	show("waiting_permits", func(g *groupLook) any { return g.sched.WaitingPermits }).gauge("lockstep_permits_waiting", "Commands that have their locks and wait for a permit."),
	show("inline", func(g *groupLook) any { return g.sched.Inline }),
	show("on_workers", func(g *groupLook) any { return g.sched.OnWorkers }),
}

// commandRows describe the calls of a command.
var commandRows = []rowOf[stats.CommandStat]{
	show("calls", func(c *stats.CommandStat) any { return c.Calls }).counter("redis_commands_total", "Calls of a command."),
	show("usec", func(c *stats.CommandStat) any { return c.Usec }).counter("redis_commands_duration_seconds_total", "Time that calls of a command took, including the wait for the quorum.").in(func(c *stats.CommandStat) float64 { return float64(c.Usec) / 1e6 }),
	show("usec_per_call", func(c *stats.CommandStat) any { return float64(c.Usec) / float64(max(c.Calls, 1)) }).as("%.2f"),
	show("rejected_calls", func(c *stats.CommandStat) any { return c.Rejected }).counter("redis_commands_rejected_calls_total", "Calls that were refused before they ran."),
	show("failed_calls", func(c *stats.CommandStat) any { return c.Failed }).counter("redis_commands_failed_calls_total", "Calls that ran and failed."),
}

// raftRows describe this node's replicas, and its clock.
var raftRows = []row{
	block(infoRaft),
	show("clock_off_ms", func(l *look) any { return l.Clock.OffMs() }).as("%.1f").gauge("lockstep_clock_off_seconds", "How far this node's clock is ahead of a majority of the nodes; negative if it is behind, 0 if it agrees or there is no majority.").in(func(l *look) float64 { return l.Clock.OffMs() / 1000 }),
	show("clock_wrong", func(l *look) any { return yes(l.Clock.Wrong(l.Self.ID()) != 0) }).gauge("lockstep_clock_wrong", "Whether this node's clock is off by more than clock-offset-max-ms. Such a node leads no shard while another one can."),
	show("raft_meta", func(l *look) any {
		meta := &l.groups()[len(l.groups())-1].stats
		return fmt.Sprintf("role=%s,term=%d,committed=%d", meta.Role, meta.Term, meta.CommitIndex)
	}),
}

// infoRaft shows details of this node's first replica, and then a line for each shard.
func infoRaft(l *look, t *infoText) {
	if len(l.groups()) == 1 {
		t.add("raft_role", "none")
		return
	}
	for i := range groupRows {
		t.add("raft_"+groupRows[i].field, groupRows[i].text(&l.groups()[0]))
	}
	l.eachShard(func(g *groupLook, _ ...string) {
		t.add("raft_shard"+g.label, line(g, whoRows, progressRows, shardRows))
	})
}

// infoLocks shows the lock slots of each replica, its longest command, and the slots with the most
// waits.
func infoLocks(l *look, t *infoText) {
	l.eachShard(func(g *groupLook, _ ...string) {
		field := "locks_shard" + g.label
		t.add(field, line(g, lockRows))
		if longest := g.shard.Longest(); longest != nil {
			t.add(field+"_longest", fmt.Sprintf("what=%s,running_ms=%d", longest.What, longest.Ran.Milliseconds()))
		}
		for rank, h := range g.shard.Machine().Sched().Hottest(survey.HottestShown) {
			t.add(field+"_hot"+strconv.Itoa(rank), fmt.Sprintf("lock_slot=%d,waited=%d,wait_usec=%d", h.Slot, h.Waited, h.WaitNs/1000))
		}
	})
}

func infoCommandStats(l *look, t *infoText) {
	l.eachCommand(func(c *stats.CommandStat, _ ...string) { t.add("cmdstat_"+c.Name, line(c, commandRows)) })
}

// eachCommand calls yield for each command that was called.
func (l *look) eachCommand(yield func(c *stats.CommandStat, labels ...string)) {
	all := l.Stats.PerCommand()
	for i := range all {
		yield(&all[i], all[i].Name)
	}
}
