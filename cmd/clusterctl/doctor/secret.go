package doctor

import "lockstep/node/status"

// secret checks how the peer ports are protected from strangers.
func (e *exam) secret(check string) {
	e.each(func(h *status.Host) {
		s := &h.Secret
		if s.OpenToAll {
			e.find(Risk, check, h.Name, "anyone who reaches its peer port may join the cluster, and read and change everything",
				"give the nodes a cluster-secret or a password, or protected-mode yes")
		}
		if s.Problem != "" {
			e.find(Risk, check, h.Name, "its cluster-secret-file cannot be used as it is now: "+s.Problem,
				"correct it; the earlier secrets stay in force until the node ends")
		}
		if s.Accepted > 1 {
			e.find(Advice, check, h.Name, "it accepts the previous cluster secret, too",
				"end the change: clusterctl secret rotate at the node that began it, or the new secret alone in the settings of all nodes")
		}
		if s.ShortPassword && s.Reachable {
			e.find(Advice, check, h.Name, "the cluster's secret is derived from a short password, and is no harder to guess",
				"clusterctl secret rotate makes one that nobody can guess; new nodes then need a copy of it (cluster-secret-file)")
		}
		if s.OtherPassword {
			e.find(Advice, check, h.Name, "the cluster's secret is not derived from its requirepass: a new node that has only requirepass is not let in",
				"give new nodes a copy of the file cluster-secret in a data folder, as cluster-secret-file")
		}
	})
}
