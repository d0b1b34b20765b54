package node

import (
	"context"
	"net"
	"strconv"
	"strings"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/node/process"
)

// clientAddress is the address that clients are told to dial: the announced address, else the bound
// one, else, if the node listens on all addresses, the host that the other nodes dial.
func clientAddress(s *config.Settings) string {
	host, _, err := net.SplitHostPort(s.PeerAddress)
	if err != nil {
		host = "127.0.0.1"
	}
	if ip := boundIP(s); ip != "" && s.ClusterAnnounceHostname != "" {
		host = ip
	}
	if s.ClusterAnnounceIP != "" {
		host = s.ClusterAnnounceIP
	}
	port := s.Port
	if port == 0 {
		port = announcedTLSPort(s)
	} else if s.ClusterAnnouncePort != 0 {
		port = s.ClusterAnnouncePort
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// boundIP is the first address that the node listens on, or "" if that stands for all addresses.
func boundIP(s *config.Settings) string {
	if len(s.Bind) == 0 {
		return ""
	}
	ip := net.ParseIP(strings.TrimPrefix(s.Bind[0], "-"))
	if ip == nil || ip.IsUnspecified() {
		return ""
	}
	return ip.String()
}

// announcedSettings are the settings that say where clients find this node.
var announcedSettings = []string{"cluster-announce-ip", "cluster-announce-hostname", "cluster-announce-port", "cluster-announce-tls-port"}

// announcer tells the cluster at which addresses this node is.
type announcer struct {
	*member.Member
	ctx context.Context
	// moved takes a token when an announced address was set.
	moved chan struct{}
}

// soon makes run announce this node's addresses again. It never blocks.
func (a *announcer) soon() {
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// run announces this node's addresses to the cluster at the start and whenever an announced address
// was set, unless the cluster has them already.
func (a *announcer) run() {
	for {
		if err := membership.Announce(a.ctx, a.Meta, a.Transport, me(a.Member)); err != nil && a.ctx.Err() == nil {
			a.Log.Warn("the cluster was not told of this node's addresses", "err", err)
		}
		select {
		case <-a.moved:
		case <-a.ctx.Done():
			return
		}
	}
}

// adminAddress is the address of the node's HTTP port, or "" if it has none.
func adminAddress(s *config.Settings) string {
	if s.AdminPort == 0 {
		return ""
	}
	host, _, err := net.SplitHostPort(s.PeerAddress)
	if err != nil {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(s.AdminPort))
}

// me is this node as the cluster should know it.
func me(m *member.Member) meta.Node {
	s := m.Config.Current()
	return meta.Node{
		ID: m.Self.ID(), Name: m.Self.Name, Incarnation: m.Self.Incarnation,
		PeerAddr: s.PeerAddress, ClientAddr: clientAddress(s), AdminAddr: adminAddress(s), Version: process.Version,
		Hostname: s.ClusterAnnounceHostname, TLSPort: announcedTLSPort(s),
	}
}

// joining is this node as it describes itself in a request to join.
func joining(m *member.Member, s *config.Settings) meta.Node {
	node := me(m)
	node.Learner = s.Learner
	return node
}
