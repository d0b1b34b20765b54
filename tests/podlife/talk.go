package podlife

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"lockstep/node/status"
	"lockstep/tests/kit/respconn"
)

// dialPatience and askPatience bound how long a pod may take to answer.
const (
	dialPatience = 2 * time.Second
	askPatience  = 20 * time.Second
)

// dial connects to a pod as a client does, and sends the password.
func (s *set) dial(addr string) (*respconn.Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, dialPatience)
	if err != nil {
		return nil, err
	}
	if s.chart.secure() {
		sealed := tls.Client(conn, s.tls.client)
		_ = conn.SetDeadline(time.Now().Add(askPatience))
		if err := sealed.Handshake(); err != nil {
			conn.Close()
			return nil, err
		}
		_ = conn.SetDeadline(time.Time{})
		conn = sealed
	}
	c := respconn.New(conn)
	c.Patience = askPatience
	if v, err := c.Do("AUTH", s.chart.password()); err != nil || v.String() != "+OK" {
		c.Close()
		return nil, fmt.Errorf("AUTH: %s %w", v, err)
	}
	return c, nil
}

// connect dials a random pod that is ready, through the Service.
func (s *set) connect() (*respconn.Conn, error) {
	all := s.lookup(s.chart.name + "." + s.chart.domain())
	if len(all) == 0 {
		return nil, errors.New("no pod is ready")
	}
	return s.dial(s.client(all[0]))
}

// servers returns the existing pods, each with a function that asks it.
func (s *set) servers() map[string]func(...string) (respconn.Value, error) {
	all := map[string]func(...string) (respconn.Value, error){}
	for i := range s.ordinals() {
		p := s.pod(i)
		all[p.name] = func(args ...string) (respconn.Value, error) { return s.ask(p, args...) }
	}
	return all
}

// shown is the serial number of the certificate that a pod shows to a new client.
func (s *set) shown(p *pod) string {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: dialPatience}, "tcp", s.client(p.leg.Addr), s.tls.client)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// ask sends one command to a pod.
func (s *set) ask(p *pod, args ...string) (respconn.Value, error) {
	c, err := s.dial(s.client(p.leg.Addr))
	if err != nil {
		return respconn.Value{}, err
	}
	defer c.Close()
	return c.Do(args...)
}

// status is the cluster's status according to a pod, or nil if the pod does not answer.
func (s *set) status(p *pod) *status.Cluster {
	v, err := s.ask(p, "LOCKSTEP", "STATUS")
	var c status.Cluster
	if err != nil || json.Unmarshal(v.Bytes, &c) != nil {
		return nil
	}
	return &c
}

// leader is the ordinal of the pod that leads the first shard, according to the others, or -1 if
// none says.
func (s *set) leader() int {
	for i := range s.ordinals() {
		c := s.status(s.pod(i))
		if c == nil || len(c.Layout) == 0 {
			continue
		}
		for j := range s.ordinals() {
			if s.pod(j).name == c.Layout[0].Leader {
				return j
			}
		}
	}
	return -1
}
