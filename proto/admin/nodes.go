package admin

import (
	"lockstep/proto/client"
)

// SlotOwner is a range of hash slots and the nodes that serve it. The first node
// leads.
type SlotOwner struct {
	First, Last int
	Nodes       []SlotNode
}

// SlotNode is a node as the CLUSTER commands show it.
type SlotNode struct {
	ID string
	// IP is the announced address, or the announced name if there is one. Hostname
	// may be empty.
	IP, Hostname string
	// Port is the plain port, TLSPort the one under TLS. 0 means that there is
	// none.
	Port, TLSPort int
	// Leads reports whether the node leads the shard; for a ClusterNode, whether it
	// leads any shard.
	Leads bool
	// Healthy reports whether the answering node can reach it.
	Healthy bool
	Offset  int64
}

// Endpoint is the host to dial. known is false if the client is to use the host
// that it already knows.
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

// PortFor is the port for clients that came over TLS or in plain text. If there is
// no such port it is the other one.
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

// ClusterLink is a connection between this node and another, open since SinceMs in
// Unix time, with the number of bytes waiting to be sent.
type ClusterLink struct {
	Node        string
	Outgoing    bool
	SinceMs     int64
	QueuedBytes int64
}
