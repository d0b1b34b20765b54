package demo

import (
	"net"
	"slices"
	"testing"

	"lockstep/tests/kit/ports"
)

// The demo runs without a page if another program has its port, or if the user has chosen a port.
func TestTheDemoHasAPageWhereItCan(t *testing.T) {
	taken, err := net.Listen("tcp", ports.FreeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().(*net.TCPAddr).Port - pagePortDistance
	for name, c := range map[string]struct {
		port int
		more []string
	}{"taken": {at, nil}, "chosen": {7001, []string{"--admin-port", "0"}}} {
		p := newProcess("lockstepd", t.TempDir(), c.port, 0, c.more)
		own := slices.Index(p.args, "--admin-port")
		if p.Page != "" || own >= 0 && own != len(p.args)-len(c.more) {
			t.Errorf("%s: page %q, %q", name, p.Page, p.args)
		}
	}
	taken.Close()
	if p := newProcess("lockstepd", t.TempDir(), at, 0, nil); p.Page == "" || !slices.Contains(p.args, "--admin-port") {
		t.Errorf("no page: %q", p.args)
	}
}
