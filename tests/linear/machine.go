package linear

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockstep/tests/kit/proc"
)

// machine tells how much of the time that passes is the cluster's: all of it but the share
// of the processors that others use. On a machine that it has for itself time is time, and
// nothing that a cluster does to itself is taken off.
type machine struct {
	cluster *proc.Cluster
	at      time.Time
	used    processors
	own     []time.Duration
}

// processors is what the processors have spent, all of them together.
type processors struct{ busy, idle time.Duration }

func newMachine(c *proc.Cluster) *machine {
	m := &machine{cluster: c}
	m.look()
	return m
}

// look returns how much of the time since the last look was the cluster's.
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
		if spent := own[i] - before; spent > 0 { // not of a node that was started again
			busy -= spent
		}
	}
	m.own = own
	if total <= 0 || busy <= 0 {
		return passed
	}
	return time.Duration(float64(passed) * float64(total-min(busy, total)) / float64(total))
}

// ownCPU is what this process has used.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// clockTick is the unit of /proc/stat.
const clockTick = time.Second / 100

// readProcessors reads what the processors have spent; zero where it cannot be known.
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
