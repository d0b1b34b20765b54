package node

import (
	"net"
	"strconv"
	"strings"

	"lockstep/cluster/membership"
	"lockstep/node/config"
)

// clientAddress is what clients are told to dial: the announced address, else
// the one that is bound, else, where everything is, the host that the other
// nodes dial.
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

// boundIP is the first address that is listened on, if it is a certain one.
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

// announcedSettings are those that say where clients find this node.
var announcedSettings = []string{"cluster-announce-ip", "cluster-announce-hostname", "cluster-announce-port", "cluster-announce-tls-port"}

// announceSoon has the cluster told where this node is. It never blocks.
func (n *Node) announceSoon() {
	select {
	case n.moved <- struct{}{}:
	default:
	}
}

// tellAddresses tells the cluster where this node is, if it does not know: at the
// start, and when an announced address was set.
func (n *Node) tellAddresses() {
	for {
		if err := membership.Announce(n.ctx, n.Meta, n.Transport, n.me()); err != nil && n.ctx.Err() == nil {
			n.log.Warn("the cluster was not told of this node's addresses", "err", err)
		}
		select {
		case <-n.moved:
		case <-n.ctx.Done():
			return
		}
	}
}

// adminAddress is where the node's HTTP port is; "" where it has none.
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
