package linear

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockstep/tests/kit/proc"
)

// machine measures how much of the passing time belongs to the cluster: all of it except the share
// of processor time that other programs use. If no other program runs, all of the time counts,
// whatever the cluster does to itself.
type machine struct {
	cluster *proc.Cluster
	at      time.Time
	used    processors
	own     []time.Duration
}

// processors is the time that all processors together have been busy and idle.
type processors struct{ busy, idle time.Duration }

func newMachine(c *proc.Cluster) *machine {
	m := &machine{cluster: c}
	m.look()
	return m
}

// look returns how much of the time since the last look belonged to the cluster.
func (m *machine) look() time.Duration {
	now, used := time.Now(), readProcessors()
	passed := now.Sub(m.at)
	busy, total := used.busy-m.used.busy, used.busy+used.idle-m.used.busy-m.used.idle
	m.at, m.used = now, used
	own := []time.Duration{ownCPU()}
	for _, n := range m.cluster.Nodes {
		own = append(own, n.CPU())
	}
	for i, before := range m.own {
		if spent := own[i] - before; spent > 0 { // not for a node that was restarted
			busy -= spent
		}
	}
	m.own = own
	if total <= 0 || busy <= 0 {
		return passed
	}
	return time.Duration(float64(passed) * float64(total-min(busy, total)) / float64(total))
}

// ownCPU is the processor time that this process has used.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// clockTick is the unit of /proc/stat.
const clockTick = time.Second / 100

// readProcessors reads the times of the processors. They are zero if they cannot be read.
func readProcessors() (p processors) {
	text, err := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	// cpu user nice system idle iowait irq softirq steal; guests are in user.
	const idleAt, waitAt, last = 4, 5, 8
	if err != nil || len(fields) <= last {
		return p
	}
	for i, field := range fields[1 : last+1] {
		n, _ := strconv.ParseInt(field, 10, 64)
		if at := i + 1; at == idleAt || at == waitAt {
			p.idle += time.Duration(n) * clockTick
		} else {
			p.busy += time.Duration(n) * clockTick
		}
	}
	return p
}
