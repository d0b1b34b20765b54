package node

import (
	"net"
	"strconv"

	"lockstep/node/config"
)

// clientAddress is what clients are told to dial.
func clientAddress(s *config.Settings) string {
	host, _, err := net.SplitHostPort(s.PeerAddress)
	if err != nil {
		host = "127.0.0.1"
	}
	port := s.Port
	if s.ClusterAnnouncePort != 0 {
		port = s.ClusterAnnouncePort
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
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
