package client

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
)

// monitors are the clients that see other clients' commands (MONITOR). Without
// monitors a command costs one check of a nil pointer.
type monitors struct {
	// all is replaced as a whole. It is nil if no client monitors.
	all atomic.Pointer[[]*pushes]
	mu  sync.Mutex // held while all is replaced
}

// add makes a client a monitor.
func (m *monitors) add(p *pushes) {
	p.monitor(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	var next []*pushes
	if old := m.all.Load(); old != nil {
		next = slices.Clone(*old)
	}
	next = append(next, p)
	m.all.Store(&next)
}

// remove ends monitoring, also for goroutines that are about to show a command.
func (m *monitors) remove(p *pushes) {
	p.monitor(false)
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.all.Load()
	if old == nil {
		return
	}
	next := slices.DeleteFunc(slices.Clone(*old), func(other *pushes) bool { return other == p })
	if len(next) == 0 {
		m.all.Store(nil)
		return
	}
	m.all.Store(&next)
}

// watched reports whether any client monitors.
func (m *monitors) watched() bool { return m.all.Load() != nil }

// monitor is MONITOR. A client that already monitors gets no reply, as in Redis.
func monitor(c *Client, _ [][]byte) {
	if c.tx.runs {
		c.out.Error(errMonitorInMulti)
		return
	}
	if c.listener.monitoring {
		return
	}
	c.listener.monitor()
	c.out.OK()
}

const (
	// errMonitorInMulti is the reply to MONITOR in a transaction.
	errMonitorInMulti = "ERR MONITOR isn't allowed for DENY BLOCKING client"
	// errShardSubscribeInMulti is the reply to SSUBSCRIBE in a transaction, where SUBSCRIBE is
	// allowed.
	errShardSubscribeInMulti = "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"
	// errMonitoring is the reply to data commands of a monitoring client, which
	// Redis treats as a kind of replica.
	errMonitoring = "ERR Replica can't interact with the keyspace"
)

// hidden reports whether MONITOR leaves a command out.
func hidden(spec *command.Spec) bool {
	return spec.Flags&(command.SkipMonitor|command.Admin) != 0 && !spec.RunsProgram()
}

// showLine sends a line to clients at once, or after their current batches. A
// client that does not read the lines is cut off at the output limit.
func showLine(all []*pushes, l line) {
	for _, p := range all {
		p.mu.Lock()
		if p.monitors {
			p.sendLocked(l)
		}
		p.mu.Unlock()
	}
}

// monitorLine is a line in Redis's format: time, database, client address, and the
// quoted arguments.
func monitorLine(now time.Time, db int, addr string, spec *command.Spec, args [][]byte) []byte {
	b := make([]byte, 0, 128)
	b = fmt.Appendf(b, "+%d.%06d [%d %s]", now.Unix(), now.Nanosecond()/1000, db, addr)
	hidden := secrets(spec, args)
	for i, a := range args {
		b = append(b, ' ')
		if len(hidden) > 0 && hidden[0] == i {
			// The positions are in order, so each is compared once.
			hidden = hidden[1:]
			b = append(b, `"(redacted)"`...)
			continue
		}
		b = appendQuoted(b, a)
	}
	return append(b, "\r\n"...)
}

// appendQuoted writes an argument as Redis quotes it.
func appendQuoted(b, arg []byte) []byte {
	const letters, escapes = "\\\"\n\r\t\a\b", `\"nrtab`
	b = append(b, '"')
	for _, ch := range arg {
		switch i := strings.IndexByte(letters, ch); {
		case i >= 0:
			b = append(b, '\\', escapes[i])
		case ch < ' ' || ch > '~':
			b = append(b, `\x`...)
			if ch < 0x10 {
				b = append(b, '0')
			}
			b = strconv.AppendUint(b, uint64(ch), 16)
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}

// secrets returns the positions of the arguments that hold a password, in order.
func secrets(spec *command.Spec, args [][]byte) []int {
	if spec.Secrets == nil {
		return nil
	}
	return spec.Secrets(args)
}
