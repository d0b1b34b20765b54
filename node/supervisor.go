package node

import (
	"net"
	"os"
	"sync"
	"time"

	"lockstep/node/config"
	"lockstep/node/health"
)

// supervisor is whom the node tells how it is: systemd, which names a socket in
// NOTIFY_SOCKET (sd_notify(3)).
type supervisor struct {
	// ready is told once, whoever says it first.
	ready sync.Once
}

// supervisorWait is how long a node that serves may take to be ready before it says so
// all the same: a start that waits for a quorum would hold up who starts one node after
// the other, and so the quorum.
const supervisorWait = 30 * time.Second

// supervised tells whether systemd wants to be told, and is to be.
func (n *Node) supervised() bool {
	s := n.cfg.Current().Supervised
	return os.Getenv("NOTIFY_SOCKET") != "" && (s == config.SupervisedSystemd || s == config.SupervisedAuto)
}

// tellSupervisor tells lines of sd_notify.
func (n *Node) tellSupervisor(lines string) {
	if !n.supervised() {
		return
	}
	// A name that begins with @ stands for an abstract socket, here as there.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: os.Getenv("NOTIFY_SOCKET"), Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(lines))
		conn.Close()
	}
	if err != nil {
		n.log.Warn("systemd could not be told how this node is", "err", err)
	}
}

// tellReady says that the start is over, and what there is to say of it.
func (n *Node) tellReady(status string) {
	n.supervisor.ready.Do(func() { n.tellSupervisor("READY=1\nSTATUS=" + status) })
}

// tellWhenReady says that the node is ready when it is, or should be.
func (n *Node) tellWhenReady() {
	t := time.NewTicker(health.Every)
	defer t.Stop()
	for late := time.Now().Add(supervisorWait); ; {
		why := n.health.Verdict()
		switch {
		case why == nil:
			n.tellReady("serving")
			// Who was told before the node was ready hears it now.
			n.tellSupervisor("STATUS=serving")
			return
		case time.Now().After(late):
			n.tellReady("serving, and not ready: " + why.Error())
		}
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
	}
}

// supervisedBy is INFO's word for who looks after the process.
func (n *Node) supervisedBy() string {
	if n.supervised() {
		return "systemd"
	}
	return "no"
}
