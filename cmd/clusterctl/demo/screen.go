package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"lockstep/node/status"
)

// screen is the live view.
type screen struct {
	ctx   context.Context
	demo  *Demo
	slow  int64
	rate  int64
	acked int64
	at    time.Time
}

type tickMsg time.Time

// refreshEvery is how often the view is drawn anew.
const refreshEvery = 500 * time.Millisecond

// RunScreen shows the live view until the person quits.
func (d *Demo) RunScreen(ctx context.Context) error {
	loadCtx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Load.run(loadCtx)
	}()
	_, err := tea.NewProgram(&screen{ctx: ctx, demo: d, at: time.Now()}, tea.WithContext(ctx)).Run()
	stop()
	<-done
	return err
}

func (s *screen) tick() tea.Cmd {
	return tea.Tick(refreshEvery, func(t time.Time) tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, 2*refreshEvery)
		defer cancel()
		s.demo.Poll(ctx)
		return tickMsg(t)
	})
}

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return s.tick() }

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		s.measure(time.Time(msg))
		return s, s.tick()
	case tea.KeyPressMsg:
		return s, s.key(msg.String())
	}
	return s, nil
}

func (s *screen) measure(now time.Time) {
	acked := s.demo.Load.Acknowledged.Load()
	if d := now.Sub(s.at).Seconds(); d > 0 {
		s.rate = int64(float64(acked-s.acked) / d)
	}
	s.acked, s.at = acked, now
	s.slow = s.demo.Load.SlowestMs()
}

func (s *screen) key(k string) tea.Cmd {
	switch k {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "w":
		state := "off"
		if s.demo.Load.Toggle() {
			state = "on"
		}
		s.demo.note("write load %s", state)
	case "l":
		return func() tea.Msg {
			s.demo.MoveLeader(s.ctx)
			return nil
		}
	default:
		if len(k) == 1 && k[0] >= '1' && k[0] <= '9' {
			s.demo.KillOrStart(int(k[0] - '1'))
		}
	}
	return nil
}

var (
	bold  = lipgloss.NewStyle().Bold(true)
	faint = lipgloss.NewStyle().Faint(true)
	good  = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	bad   = lipgloss.NewStyle().Foreground(lipgloss.Color("1")).Bold(true)
)

// View implements tea.Model.
func (s *screen) View() tea.View {
	var b strings.Builder
	d := s.demo
	where := "data in a temporary folder (deleted on exit; --keep DIR to keep)"
	if !d.temporary {
		where = "data in " + d.Dir
	}
	fmt.Fprintf(&b, "%s · %d nodes · %s\n\n", bold.Render("lockstep demo cluster"), len(d.Procs), where)
	b.WriteString(bold.Render(fmt.Sprintf("  %-4s %-16s %-10s %6s %10s %6s %9s %8s %7s", "NODE", "CLIENT", "ROLE", "TERM", "EXECUTED", "LAG", "KEYS", "OPS/S", "MEM")))
	b.WriteByte('\n')
	c := d.Latest()
	for _, p := range d.Procs {
		b.WriteString(nodeRow(p, c))
	}
	first := d.Procs[0].Port
	last := d.Procs[len(d.Procs)-1].Port
	fmt.Fprintf(&b, "\n  try it    redis-cli -p %d set greeting hello      (any node takes writes)\n            redis-cli -p %d get greeting\n", first, last)
	fmt.Fprintf(&b, "  break it  1-%d kill -9 that node, again to start it · l move the leader · w write load (%s) · q quit\n\n", len(d.Procs), onOff(d.Load.On()))
	verdict := good.Render(d.Verdict())
	if d.Load.Lost.Load() > 0 {
		verdict = bad.Render(d.Verdict())
	}
	fmt.Fprintf(&b, "  load      %d writes/s · slowest %d ms · errors %d · %s · %d reads checked\n\n", s.rate, s.slow, d.Load.Errors.Load(), verdict, d.Load.Checked.Load())
	for i, e := range d.Events() {
		label := "          "
		if i == 0 {
			label = "  events  "
		}
		b.WriteString(label + "  " + e + "\n")
	}
	if c != nil {
		for _, reason := range c.Reasons {
			b.WriteString(faint.Render("            "+reason) + "\n")
		}
	}
	v := tea.NewView(b.String())
	v.AltScreen = true
	return v
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func nodeRow(p *Process, c *status.Cluster) string {
	if !p.Running() {
		return fmt.Sprintf("  %-4s %-16s %s\n", p.Name, p.Addr(), bad.Render("killed"))
	}
	if c != nil {
		for i := range c.Nodes {
			n := &c.Nodes[i]
			g := n.Group("0")
			if n.Name != p.Name || !n.Reachable || g == nil {
				continue
			}
			role := fmt.Sprintf("%-10s", g.Role)
			if g.Role == "leader" {
				role = good.Render(role)
			}
			return fmt.Sprintf("  %-4s %-16s %s %6d %10d %6d %9d %8d %6dM\n", p.Name, p.Addr(), role, g.Term, g.Executed, g.Lag, n.Keys, n.OpsPerSec, n.RSSBytes>>20)
		}
	}
	return fmt.Sprintf("  %-4s %-16s %s\n", p.Name, p.Addr(), faint.Render("starting"))
}
