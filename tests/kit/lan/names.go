package lan

import (
	"encoding/binary"
	"net"
	"strings"
)

// names is a name server. It looks each name up again for every request.
type names struct {
	conn   net.PacketConn
	lookup func(name string) []string
}

// ServeNames answers on port 53 of the gateway for as long as the test lasts.
// lookup returns the addresses of a name in lower case without its last dot.
func (l *Lan) ServeNames(lookup func(string) []string) {
	l.t.Helper()
	conn, err := net.ListenPacket("udp", net.JoinHostPort(l.Gateway(), "53"))
	if err != nil {
		l.t.Fatal(err)
	}
	done := make(chan struct{})
	l.t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		(&names{conn, lookup}).serve()
	}()
}

func (s *names) serve() {
	in := make([]byte, 512)
	for {
		n, from, err := s.conn.ReadFrom(in)
		if err != nil {
			return
		}
		if out := s.answer(in[:n]); out != nil {
			_, _ = s.conn.WriteTo(out, from)
		}
	}
}

// The parts of DNS that this server uses (RFC 1035).
const (
	dnsHeader   = 12
	dnsTypeA    = 1
	dnsNoSuch   = 3    // the code of a reply: the name does not exist
	dnsAnswered = 0x84 // an authoritative reply
	dnsPointer  = 0xc00c
)

// answer answers one request. It returns nil if the request is malformed.
func (s *names) answer(q []byte) []byte {
	if len(q) < dnsHeader || q[2]&0x80 != 0 || binary.BigEndian.Uint16(q[4:]) != 1 {
		return nil
	}
	var labels []string
	at := dnsHeader
	for at < len(q) && q[at] != 0 {
		end := at + 1 + int(q[at])
		if q[at] > 63 || end >= len(q) {
			return nil
		}
		labels = append(labels, strings.ToLower(string(q[at+1:end])))
		at = end
	}
	at += 5 // the root, type and class
	if at > len(q) {
		return nil
	}
	addrs := s.lookup(strings.Join(labels, "."))
	out := append([]byte(nil), q[:at]...)
	out[2], out[3] = dnsAnswered|q[2]&1, 0
	clear(out[6:dnsHeader])
	if len(addrs) == 0 {
		out[3] = dnsNoSuch
		return out
	}
	if binary.BigEndian.Uint16(q[at-4:]) != dnsTypeA {
		return out // the name exists, but has no record of this type
	}
	for _, addr := range addrs {
		out = binary.BigEndian.AppendUint16(out, dnsPointer)
		out = append(out, 0, dnsTypeA, 0, 1, 0, 0, 0, 5, 0, 4)
		out = append(out, net.ParseIP(addr).To4()...)
	}
	binary.BigEndian.PutUint16(out[6:], uint16(len(addrs)))
	return out
}
