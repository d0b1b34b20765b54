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

// supervisor reports the state of the node to systemd, which names a socket in NOTIFY_SOCKET
// (sd_notify(3)).
type supervisor struct {
	*member.Member
	health *health.Health
	ctx    context.Context
	// ready makes sure that readiness is reported once, by whichever caller is first.
	ready sync.Once
}

// supervisorWait is how long a serving node may take to become ready before it reports READY
// anyway. A start that waits for a quorum would block an operator who starts one node after the
// other, and so the quorum would never come.
const supervisorWait = 30 * time.Second

// supervised reports whether systemd expects notifications and the settings allow them.
func (s *supervisor) supervised() bool {
	by := s.Config.Current().Supervised
	return os.Getenv("NOTIFY_SOCKET") != "" && (by == config.SupervisedSystemd || by == config.SupervisedAuto)
}

// tell sends lines of sd_notify.
func (s *supervisor) tell(lines string) {
	if !s.supervised() {
		return
	}
	// A name that begins with @ means an abstract socket, in Go as in sd_notify.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: os.Getenv("NOTIFY_SOCKET"), Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(lines))
		conn.Close()
	}
	if err != nil {
		s.Log.Warn("systemd could not be told how this node is", "err", err)
	}
}

// tellReady reports that the start is over, with a status line.
func (s *supervisor) tellReady(status string) {
	s.ready.Do(func() { s.tell("READY=1\nSTATUS=" + status) })
}

// tellWhenReady reports READY when the node is ready, or after supervisorWait.
func (s *supervisor) tellWhenReady() {
	t := time.NewTicker(health.Every)
	defer t.Stop()
	for late := time.Now().Add(supervisorWait); ; {
		why := s.health.Verdict()
		switch {
		case why == nil:
			s.tellReady("serving")
			// If READY was sent before the node was ready, this updates the status.
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

// supervisedBy is INFO's word for the supervisor of the process.
func (s *supervisor) supervisedBy() string {
	if s.supervised() {
		return "systemd"
	}
	return "no"
}
