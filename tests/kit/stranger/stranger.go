// Package stranger plays peers that connect to a peer port and know no secret: programs that speak
// another protocol, nodes without a cluster or of another one, and crowds that only occupy places.
package stranger

import (
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"lockstep/cluster/secret"
	"lockstep/cluster/transport"
	"lockstep/tests/kit/ring"
)

// Patience is how long a peer port may take to close a stranger's connection.
const Patience = 30 * time.Second

// Secret is a secret that no cluster of a test has.
const Secret = "what-a-stranger-takes-for-the-secret"

// Node is a node that claims to belong to a cluster, under the id of one of its nodes or another
// id, and proves these secrets, or none.
func Node(t testing.TB, cluster, id string, secrets ...string) *transport.Transport {
	t.Helper()
	n, err := transport.Listen(transport.Config{
		Advertise: "127.0.0.1:1", NodeID: id, ClusterID: func() string { return cluster }, Ring: ring.New(secrets...), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// Hello is the first message of a node.
var Hello = secret.Magic + strings.Repeat("n", secret.BindingBytes)

// Words are messages of strangers, by the kind of stranger.
func Words(cluster string) map[string]string {
	preface := "\x01\x00\x00\x00\x00" + string(rune(len(cluster))) + cluster + "\x01x\x00"
	proof := strings.Repeat("p", secret.BindingBytes)
	return map[string]string{
		"nobody": "", "one letter": "L", "half of a hello": Hello[:20], "a hello": Hello, "a client": "PING\r\n", "a browser": "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
		"TLS": "\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03", "a node without a secret": Hello + "\x00" + preface,
		"a node that makes up a proof": Hello + "\x01" + proof + preface, "a node that makes up two": Hello + "\x02" + proof + proof + preface,
		"a node that claims many": Hello + "\xff" + strings.Repeat("p", 1<<16), "a node that is in a hurry": Hello + preface, "noise": strings.Repeat("\xff\x00\x17", 1000),
	}
}

// Say sends one message to a port, and returns all bytes that it receives until the port closes the
// connection. It fails if the port does not close it.
func Say(addr, words string) (told string, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(Patience))
	go func() { _, _ = io.WriteString(conn, words) }() // it may be closed meanwhile
	text, err := io.ReadAll(conn)
	if timeout, is := err.(net.Error); is && timeout.Timeout() {
		return string(text), err
	}
	return string(text), nil // a reset also closes the connection
}

// Crowd is a number of connections that occupy places.
type Crowd struct{ conns []net.Conn }

// Gather opens connections, each of which sends the same message and nothing more.
func Gather(t testing.TB, n int, addr, words string) *Crowd {
	t.Helper()
	c := &Crowd{}
	t.Cleanup(c.Leave)
	if err := c.Come(n, addr, words); err != nil {
		t.Fatal(err)
	}
	return c
}

// Come opens n more connections, each of which sends words and nothing more. It fails if nothing
// listens. A connection that is closed at once counts as well.
func (c *Crowd) Come(n int, addr, words string) error {
	for range n {
		conn, err := net.DialTimeout("tcp", addr, comeWait)
		if err != nil {
			return err
		}
		c.conns = append(c.conns, conn)
		_ = conn.SetWriteDeadline(time.Now().Add(comeWait))
		_, _ = io.WriteString(conn, words) // the port may have closed the connection already
	}
	return nil
}

// comeWait bounds the time until a stranger is connected, and until it has sent its message.
const comeWait = time.Second

// Leave closes the connections.
func (c *Crowd) Leave() {
	for _, conn := range c.conns {
		conn.Close()
	}
}
