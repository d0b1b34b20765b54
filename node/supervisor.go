package node

import (
	"context"
	"net"
	"os"
	"sync"
	"time"

	"lockstep/node/config"
	"lockstep/node/health"
	"lockstep/node/member"
)

// supervisor is told how the node is: systemd, which names a socket in
// NOTIFY_SOCKET (sd_notify(3)).
type supervisor struct {
	*member.Member
	health *health.Health
	ctx    context.Context
	// ready is told once, by the first that says it.
	ready sync.Once
}

// supervisorWait is how long a node that serves may take to be ready before it says so
// all the same: a start that waits for a quorum would hold up an operator who starts one node after
// the other, and so the quorum.
const supervisorWait = 30 * time.Second

// supervised tells whether systemd wants to be told, and is to be.
func (s *supervisor) supervised() bool {
	by := s.Config.Current().Supervised
	return os.Getenv("NOTIFY_SOCKET") != "" && (by == config.SupervisedSystemd || by == config.SupervisedAuto)
}

// tell tells lines of sd_notify.
func (s *supervisor) tell(lines string) {
	if !s.supervised() {
		return
	}
	// A name that begins with @ stands for an abstract socket, here as there.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: os.Getenv("NOTIFY_SOCKET"), Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(lines))
		conn.Close()
	}
	if err != nil {
		s.Log.Warn("systemd could not be told how this node is", "err", err)
	}
}

// tellReady says that the start is over, and what there is to say of it.
func (s *supervisor) tellReady(status string) {
	s.ready.Do(func() { s.tell("READY=1\nSTATUS=" + status) })
}

// tellWhenReady says that the node is ready when it is, or should be.
func (s *supervisor) tellWhenReady() {
	t := time.NewTicker(health.Every)
	defer t.Stop()
	for late := time.Now().Add(supervisorWait); ; {
		why := s.health.Verdict()
		switch {
		case why == nil:
			s.tellReady("serving")
			// One that was told before the node was ready hears it now.
			s.tell("STATUS=serving")
			return
		case time.Now().After(late):
			s.tellReady("serving, and not ready: " + why.Error())
		}
		select {
		case <-t.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// supervisedBy is INFO's word for what looks after the process.
func (s *supervisor) supervisedBy() string {
	if s.supervised() {
		return "systemd"
	}
	return "no"
}
