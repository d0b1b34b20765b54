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
	// width is the width of the terminal in columns, 0 while it is unknown.
	width int
}

type tickMsg time.Time

// refreshEvery is how often the view is drawn again.
const refreshEvery = 500 * time.Millisecond

// RunScreen shows the live view until the user quits.
func (d *Demo) RunScreen(ctx context.Context) error {
	defer d.Load.start(ctx)()
	_, err := tea.NewProgram(&screen{ctx: ctx, demo: d, at: time.Now()}, tea.WithContext(ctx)).Run()
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
	case tea.WindowSizeMsg:
		s.width = msg.Width
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
	b.WriteString(s.parts("", bold.Render("lockstep demo cluster"), fmt.Sprintf("%d nodes", len(d.Procs)), where) + "\n")
	b.WriteString(bold.Render(fmt.Sprintf(headForm, "NODE", "CLIENT", "ROLE", "TERM", "EXECUTED", "LAG", "KEYS", "OPS/S", "MEM")))
	b.WriteByte('\n')
	c := d.Latest()
	for _, p := range d.Procs {
		b.WriteString(nodeRow(p, c))
	}
	first := d.Procs[0].Port
	last := d.Procs[len(d.Procs)-1].Port
	fmt.Fprintf(&b, "\n  try it    redis-cli -p %d set greeting hello      (any node takes writes)\n            redis-cli -p %d get greeting\n", first, last)
	if page := d.page(); page != "" {
		fmt.Fprintf(&b, "  look      %s in a browser shows the whole cluster\n", page)
	}
	b.WriteString(s.parts("  break it  ", fmt.Sprintf("1-%d kill -9 that node, again to start it", len(d.Procs)),
		"l move the leader", "w write load ("+onOff(d.Load.On())+")", "q quit") + "\n")
	verdict := good.Render(d.Verdict())
	if d.Load.Lost.Load() > 0 {
		verdict = bad.Render(d.Verdict())
	}
	b.WriteString(s.parts("  load      ", fmt.Sprintf("%d writes/s", s.rate), fmt.Sprintf("slowest %d ms", s.slow),
		fmt.Sprintf("errors %d", d.Load.Errors.Load()), verdict, fmt.Sprintf("%d reads checked", d.Load.Checked.Load())) + "\n")
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

// parts returns a line made of parts. A part that does not fit the width of the terminal goes to
// the next line, under the first part; no part is broken.
func (s *screen) parts(label string, parts ...string) string {
	const between = " · "
	lines, room := label, s.width-lipgloss.Width(label)
	for i, p := range parts {
		w := lipgloss.Width(p)
		switch {
		case i == 0:
		case s.width == 0 || w+lipgloss.Width(between) <= room:
			lines += between
			room -= lipgloss.Width(between)
		default:
			lines += "\n" + strings.Repeat(" ", lipgloss.Width(label))
			room = s.width - lipgloss.Width(label)
		}
		lines += p
		room -= w
	}
	return lines + "\n"
}

// headForm and rowForm are the columns of the table: 78 columns wide, for the narrowest common
// terminals.
const (
	headForm = "  %-4s %-15s %-9s %5s %9s %5s %8s %7s %6s"
	rowForm  = "  %-4s %-15s %s %5d %9d %5d %8d %7d %5dM\n"
)

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func nodeRow(p *Process, c *status.Cluster) string {
	if !p.Running() {
		return fmt.Sprintf("  %-4s %-15s %s\n", p.Name, p.Addr(), bad.Render("killed"))
	}
	if c != nil {
		for i := range c.Nodes {
			n := &c.Nodes[i]
			g := n.Group("0")
			if n.Name != p.Name || !n.Reachable || g == nil {
				continue
			}
			role := fmt.Sprintf("%-9s", g.Role)
			if g.Role == "leader" {
				role = good.Render(role)
			}
			return fmt.Sprintf(rowForm, p.Name, p.Addr(), role, g.Term, g.Executed, g.Lag, n.Keys, n.OpsPerSec, n.RSSBytes>>20)
		}
	}
	return fmt.Sprintf("  %-4s %-15s %s\n", p.Name, p.Addr(), faint.Render("starting"))
}
