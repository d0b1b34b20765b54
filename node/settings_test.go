package node

import (
	"context"
	"net"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/tests/kit/ports"
)

// applied is a log of the meta group whose entries are applied at once.
type applied struct {
	machine *meta.Machine
	index   uint64
}

func (*applied) IsLeader() bool { return true }

func (a *applied) Append(_ context.Context, data []byte) error {
	a.index++
	return a.machine.Apply(a.index, data)
}

// founded returns a node that has only a meta group of its own, and a function that executes
// commands there.
func founded(t *testing.T) (n *replicated, do func(meta.Command)) {
	n = &replicated{Member: &member.Member{Config: config.Default(), Machine: meta.NewMachine()}}
	rpc := leaderrpc.New(leaderrpc.Config{Leader: func(uint32) (string, bool) { return "", true }})
	t.Cleanup(rpc.Close)
	n.Meta = meta.NewClient(n.Machine, &applied{machine: n.Machine}, rpc, nil)
	do = func(c meta.Command) {
		t.Helper()
		if _, err := n.Meta.Do(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	founder := meta.Node{ID: meta.MakeNodeID("n1", 1), Name: "n1", Incarnation: 1, PeerAddr: "a:1", ClientAddr: "a:2"}
	do(&meta.CreateCluster{ClusterID: "c", Founder: founder, Creation: creation(n.Config.Current())})
	return n, do
}

// The goroutine that has set something applies the settings too, in parallel with the goroutine
// that applies the log. If it is delayed after it has read the state, newer settings must stay in
// force.
func TestAnOldViewBringsNoOldSettingsBack(t *testing.T) {
	n, do := founded(t)
	n.Machine.OnChange(n.applySettings)
	do(&meta.SetSettings{Set: map[string]string{"maxmemory": "1000"}})
	old := n.Machine.View()
	do(&meta.SetSettings{Set: map[string]string{"maxmemory": "2000"}})
	n.applySettings(old)
	if got := n.Config.Current().Engine.MemoryBytesMax; got != 2000 {
		t.Errorf("maxmemory is %d", got)
	}
}

// A node that begins to lead a shard may not have received the newest settings.
func TestWhoBeginsToLeadHasTheNewestSettings(t *testing.T) {
	n, do := founded(t)
	do(&meta.SetSettings{Set: map[string]string{"maxmemory": "2000"}})
	if err := n.catchUpAsLeader(t.Context()); err == nil {
		t.Error("a node that knows no settings at all is content with its own")
	}
	n.settled.Store(true)
	if err := n.catchUpAsLeader(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := n.Config.Current().Engine.MemoryBytesMax; got != 2000 {
		t.Errorf("maxmemory is %d", got)
	}
}

// redis.conf has `bind * -::*` for all addresses.
func TestAllAddressesAreListenedOnOnce(t *testing.T) {
	port := ports.Free(t)
	for _, bind := range [][]string{{"*", "-::*"}, {"-::*", "*"}, {"0.0.0.0", "-::"}, {"127.0.0.1", "-::1"}} {
		for _, addr := range listenAddresses(bind, port) {
			l, err := net.Listen("tcp", addr)
			if err != nil {
				t.Errorf("%q: %v", bind, err)
				continue
			}
			defer l.Close()
		}
		port = ports.Free(t)
	}
}
