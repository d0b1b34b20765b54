package proc

import (
	"fmt"

	"lockstep/tests/kit/respconn"
)

// Digest is DEBUG DIGEST of the node's own replicas.
func Digest(addr string) (string, error) {
	conn, err := respconn.DialTimeout(addr, lookPatience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	replies, err := conn.Pipeline([]string{"READONLY"}, []string{"DEBUG", "DIGEST"})
	if err != nil {
		return "", err
	}
	if _, err := replies[0].Text(); err != nil {
		return "", err
	}
	return replies[1].Text()
}

// SameState waits until the replicas of all running nodes have the same data, and returns their
// digest. If they never have, the error says what each has. A replica that has executed another
// history never gets there.
func (c *Cluster) SameState() (digest string, err error) {
	held := map[string]string{}
	same := Poll(ElectionPatience, func() bool {
		clear(held)
		digest = ""
		for _, n := range c.Nodes {
			if !n.Running() {
				continue
			}
			d, err := Digest(n.Addr())
			if err != nil {
				held[n.Name] = err.Error()
				return false
			}
			if held[n.Name] = d; digest != "" && d != digest {
				return false
			}
			digest = d
		}
		return digest != ""
	})
	if !same {
		return "", fmt.Errorf("the replicas differ, or cannot be asked: %v", held)
	}
	return digest, nil
}

// Lead makes a node the leader of the first shard.
func (c *Cluster) Lead(n *Node) {
	c.t.Helper()
	Wait(c.t, ElectionPatience, n.Name+" leads", func() bool {
		if c.Leader() == n {
			return true
		}
		_, _ = ask(n.Addr(), lookPatience, "LOCKSTEP", "TRANSFER", "0", n.Name)
		return false
	})
}
