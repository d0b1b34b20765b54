package admin

import (
	"lockstep/proto/client"
)

// SlotOwner is a range of hash slots and who serves it; the first node leads.
type SlotOwner struct {
	First, Last int
	Nodes       []SlotNode
}

// SlotNode is a node as the CLUSTER commands tell of it.
type SlotNode struct {
	ID string
	// IP is the address that is announced; where a name is, the name. Hostname may
	// be empty.
	IP, Hostname string
	// Port is the plain one, TLSPort that under TLS; 0: there is none.
	Port, TLSPort int
	// Leads tells whether it leads the shard, or of a ClusterNode any.
	Leads bool
	// Healthy tells whether the node that answers can reach it.
	Healthy bool
	Offset  int64
}

// Endpoint is the host to dial; false: the one the client knows.
func (n *SlotNode) Endpoint(kind client.EndpointKind) (host string, known bool) {
	switch {
	case kind == client.EndpointIP:
		return n.IP, true
	case kind == client.EndpointUnknown:
		return "", false
	case n.Hostname == "":
		return "?", true
	}
	return n.Hostname, true
}

// PortFor is the port for clients that came by TLS, or plainly; where there is
// none the other one.
func (n *SlotNode) PortFor(secured bool) int {
	if secured && n.TLSPort != 0 || n.Port == 0 {
		return n.TLSPort
	}
	return n.Port
}

// ClusterNode is a line of CLUSTER NODES: a master, or a replica of one.
type ClusterNode struct {
	SlotNode
	BusPort int
	Myself  bool
	// Master is the id of a replica's master; empty for a master.
	Master string
	// Slots are the ranges that a master serves, first and last.
	Slots [][2]int
	Epoch uint64
}

// ClusterLink is a connection between this node and another, open since SinceMs
// in Unix time, with bytes that wait to be sent.
type ClusterLink struct {
	Node        string
	Outgoing    bool
	SinceMs     int64
	QueuedBytes int64
}
