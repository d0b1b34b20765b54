package client

import "testing"

// Who has just ceased to monitor is shown nothing, not even by who began to show it
// before: a client of RESP2 would take it for a reply.
func TestWhoCeasesToMonitorIsShownNothing(t *testing.T) {
	m, p := &monitors{}, &pushes{held: true}
	m.add(p)
	all := *m.all.Load()
	showLine(all, line("+one\r\n"))
	m.remove(p)
	showLine(all, line("+two\r\n"))
	if len(p.waiting) != 1 {
		t.Errorf("%q", p.waiting)
	}
}
