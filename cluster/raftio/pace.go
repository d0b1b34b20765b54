package raftio

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Paced is a group's stream layer that judges a request by its progress. The library
// gives a request one deadline, whatever its length. On a narrow link an entry of many
// megabytes cannot be sent within that time, so the same entry was sent again and again,
// and everything behind it in the log waited for good.
//
// On a paced connection a request may take as long as its bytes move: each piece of it
// may take Gap to be sent. A link that stands still is noticed after Gap, however long
// the request is.
//
// The answer may take Gap for each AnswerStep bytes of the request, at least once: bytes
// that have left this process may still wait in buffers on the way, and the follower has
// to store them. Meanwhile the kernel watches the connection (package transport).
type Paced struct {
	raft.StreamLayer
	Gap        time.Duration
	AnswerStep int
}

// pieceBytes must be sent within one gap: it is small enough for the slowest of links.
const pieceBytes = 64 << 10

// Dial implements raft.StreamLayer.
func (l Paced) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := l.StreamLayer.Dial(target, timeout)
	if err != nil {
		return nil, err
	}
	return &pacedConn{Conn: conn, layer: l}, nil
}

// pacedConn is a connection on which the library sends requests. Either it sends one
// after the other, and calls SetDeadline for each. Or it sends them in a pipeline, and
// calls SetWriteDeadline before each request and SetReadDeadline before it reads each
// answer.
type pacedConn struct {
	net.Conn
	layer Paced

	mu sync.Mutex // guards what follows
	// asked are the lengths in bytes of the requests whose answers nobody reads yet, oldest
	// first. The last one may still be on its way out.
	asked []int
	// awaited is the length of the request whose answer is being read, until it comes.
	awaited int
	// single is true if requests are sent one after the other. Then wait is the least
	// time that the library waits for the answer, and begun is true once that time runs.
	single, begun bool
	wait          time.Duration
}

// SetDeadline implements net.Conn. It starts a single request.
func (c *pacedConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.awaited = append(c.asked[:0], 0), 0
	c.single, c.begun, c.wait = true, false, time.Until(t)
	return nil
}

// SetWriteDeadline implements net.Conn. It starts a request in a pipeline.
func (c *pacedConn) SetWriteDeadline(time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.single {
		c.asked, c.awaited, c.single = c.asked[:0], 0, false
	}
	c.asked = append(c.asked, 0)
	return nil
}

// SetReadDeadline implements net.Conn. It starts the wait for an answer in a pipeline.
func (c *pacedConn) SetReadDeadline(time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) > 0 {
		c.awaited = c.asked[0]
		c.asked = slices.Delete(c.asked, 0, 1)
	}
	return c.Conn.SetReadDeadline(time.Now().Add(c.answerWait(c.awaited)))
}

// answerWait is how long the answer to a request of so many bytes may take after its last
// byte was sent.
func (c *pacedConn) answerWait(bytes int) time.Duration {
	return c.layer.Gap * time.Duration(max(1, bytes/c.layer.AnswerStep))
}

// Write implements net.Conn.
func (c *pacedConn) Write(b []byte) (n int, err error) {
	for begin := true; begin || n < len(b); begin = false {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.pieceWait())); err != nil {
			return n, err
		}
		sent, err := c.Conn.Write(b[n:min(n+pieceBytes, len(b))])
		n += sent
		c.left(sent)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// pieceWait is how long the next piece may take to be sent. A follower that is busy with
// earlier requests does not read on before it has answered them.
func (c *pacedConn) pieceWait() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	earlier := c.awaited
	if last := len(c.asked) - 1; last > 0 {
		for _, n := range c.asked[:last] {
			earlier += n
		}
	}
	return c.answerWait(earlier)
}

// left records that so many bytes of the newest request have been sent.
func (c *pacedConn) left(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.asked) - 1; last >= 0 {
		c.asked[last] += n
	}
}

// Read implements net.Conn.
func (c *pacedConn) Read(b []byte) (int, error) {
	if wait, begins := c.answerBegins(); begins {
		if err := c.Conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.mu.Lock()
		c.awaited = 0
		c.mu.Unlock()
	}
	return n, err
}

// answerBegins reports whether this is the first read of the answer to a single request,
// and how long the answer may take.
func (c *pacedConn) answerBegins() (wait time.Duration, begins bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.single || c.begun {
		return 0, false
	}
	c.begun = true
	return max(c.wait, c.answerWait(c.asked[0])), true
}
