package doctor

import "lockstep/node/status"

// secret looks at what keeps strangers from the peer ports.
func (e *exam) secret(check string) {
	e.each(func(h *status.Host) {
		s := &h.Secret
		if s.OpenToAll {
			e.find(Risk, check, h.Name, "whoever reaches its peer port may join the cluster, and read and change everything",
				"give the nodes a cluster-secret or a password, or protected-mode yes")
		}
		if s.Problem != "" {
			e.find(Risk, check, h.Name, "its cluster-secret-file cannot be used as it is now: "+s.Problem,
				"put it right; the secrets from before are in force until the node ends")
		}
		if s.Accepted > 1 {
			e.find(Advice, check, h.Name, "it accepts the previous cluster secret, too",
				"end the change: clusterctl secret rotate at the node that began it, or the new secret alone in the settings of all nodes")
		}
		if s.ShortPassword && s.Reachable {
			e.find(Advice, check, h.Name, "the cluster's secret is derived from a short password, and is no harder to guess",
				"clusterctl secret rotate makes one that nobody guesses; new nodes then need a copy of it (cluster-secret-file)")
		}
		if s.OtherPassword {
			e.find(Advice, check, h.Name, "the cluster's secret is not derived from its requirepass: a new node that is given that alone is not let in",
				"give new nodes a copy of the file cluster-secret in a data folder, as cluster-secret-file")
		}
	})
}
