package linear

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	// narrowBytesPerSec is the bandwidth to a node on a slow connection, and longBytesMax the
	// maximum length of a command, which takes three seconds there.
	narrowBytesPerSec = 8 << 20
	longBytesMax      = 24 << 20
	longKey           = "long"
)

// long is a key that is set to very long values, one after the other.
type long struct {
	writes int
	// acked is the last acknowledged write, if any. The key has the value of that write, or of one
	// with an unknown outcome: those may take effect at any later time.
	acked   *longWrite
	unknown []longWrite
}

// longWrite describes a value.
type longWrite struct {
	number uint64
	bytes  int
}

// value is random, so that compression cannot shorten it.
func (l longWrite) value() []byte {
	var seed [32]byte
	seed[0], seed[1] = byte(l.number), byte(l.number>>8)
	b := make([]byte, l.bytes)
	_, _ = rand.NewChaCha8(seed).Read(b)
	return b
}

// write sets the key through a node.
func (l *long) write(w *workload, addr string, bytes int) {
	l.writes++
	x := longWrite{uint64(l.writes), bytes}
	conn, err := respconn.DialTimeout(addr, time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Patience = clientPatience
	v, err := conn.Do("SET", longKey, string(x.value()))
	said := string(v.Bytes)
	full := w.evicts && strings.HasPrefix(said, "OOM ")
	switch {
	case err == nil && !v.IsError():
		l.acked = &x
	case err != nil || outcomeOfError(said) == Unknown && !full:
		l.unknown = append(l.unknown, x)
	}
	if err == nil && v.IsError() && !speaksOfTrouble(said) && !full {
		w.report("SET of %d bytes at %s: %s", bytes, addr, said)
	}
}

// verify checks that the key has one of the possible values.
func (l *long) verify(t *testing.T, addr string) {
	t.Helper()
	v, err := proc.Dial(t, addr).Do("GET", longKey)
	if err != nil || v.IsError() {
		t.Fatalf("%s: %s, %v", longKey, v, err)
	}
	t.Logf("%s: written %d times, %d bytes", longKey, l.writes, len(v.Bytes))
	may := l.unknown
	if l.acked != nil {
		may = append(may, *l.acked)
	} else if v.Null {
		return
	}
	for _, x := range may {
		if x.bytes == len(v.Bytes) && bytes.Equal(x.value(), v.Bytes) {
			return
		}
	}
	t.Errorf("%s has %d bytes that were never written, or others were acknowledged: %v", longKey, len(v.Bytes), may)
}

// narrow makes the connections of random nodes slow for a while, and sends very long commands over
// them.
func (n *nemesis) narrow(from, to time.Duration) {
	if n.disks != nil {
		return
	}
	var names []string
	for _, node := range n.c.Nodes {
		if n.r.IntN(2) == 0 {
			names = append(names, node.Name)
		}
	}
	set := func(bytesPerSec int) func() {
		return func() {
			for _, name := range names {
				n.wires.pace(name).Narrow(bytesPerSec)
			}
		}
	}
	n.at(from, fmt.Sprintf("the ways to %v are narrow", names), set(narrowBytesPerSec))
	n.at(to, fmt.Sprintf("the ways to %v are wide", names), set(0))
	asked, length := n.node(), longBytesMax/2+n.r.IntN(longBytesMax/2)
	if n.lengthy {
		return
	}
	n.lengthy = true
	n.at(from, fmt.Sprintf("SET of %d MB at %s", length>>20, asked.Name), func() {
		n.orders.run(func() { n.long.write(n.w, asked.Addr(), length) })
	})
}
