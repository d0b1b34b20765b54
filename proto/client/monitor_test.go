package client

import "testing"

// A client that has just stopped monitoring gets no more lines, not even from a goroutine that was
// about to send one: a client of RESP2 would take the line for a reply.
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
