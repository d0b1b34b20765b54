package client

import "testing"

// A client that has just stopped monitoring is sent no line, not even by a goroutine
// that began to send one before: a client of RESP2 would take the line for a reply.
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
