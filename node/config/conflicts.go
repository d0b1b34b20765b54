package config

import "fmt"

// conflicts lists settings that contradict each other. The same rules hold at
// the start and at CONFIG SET.
func conflicts(s *Settings) []string {
	var found []string
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	say(s.Port == s.PeerPort, "port and peer-port are both %d", s.Port)
	say(s.AdminPort != 0 && (s.AdminPort == s.Port || s.AdminPort == s.PeerPort),
		"admin-port %d is the port for clients or for peers", s.AdminPort)
	say(s.ACLFile != "" && len(s.Users) > 0, "the configuration has users and aclfile names a file of users: give one of them")
	say(s.ClusterSecret != "" && s.ClusterSecretFile != "", "cluster-secret and cluster-secret-file are both set: give one of them")
	tlsConflicts(s, say)
	say(len(s.Bind) == 0, "bind names no address")
	say(s.Bootstrap && len(s.Join) > 0, "bootstrap begins a new cluster and join enters an old one: give one of them")
	say(s.Bootstrap && s.BootstrapExpect > 0, "bootstrap begins a new cluster at once and bootstrap-expect when all nodes are there: give one of them")
	say(s.BootstrapExpect > 0 && len(s.Join) == 0, "bootstrap-expect %d needs join: the names at which the nodes find each other", s.BootstrapExpect)
	say(s.RaftElectionMs < s.RaftHeartbeatMs, "raft-election-ms %d is less than raft-heartbeat-ms %d", s.RaftElectionMs, s.RaftHeartbeatMs)
	say(s.ClientQueryBufferLimit < s.ProtoMaxBulkLen,
		"client-query-buffer-limit %d is less than proto-max-bulk-len %d: the largest argument would not fit", s.ClientQueryBufferLimit, s.ProtoMaxBulkLen)
	say(s.OutstandingBytesMax < s.ProtoMaxBulkLen,
		"outstanding-bytes-max %d is less than proto-max-bulk-len %d: the largest value and another one would never be admitted together", s.OutstandingBytesMax, s.ProtoMaxBulkLen)
	return found
}
