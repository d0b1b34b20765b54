// Package ports finds ports for tests that run beside others.
package ports

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Client ports are drawn from a range below that of the peer ports, 10000 above
// them, and both lie below the ports the kernel hands out by itself, so that no
// outgoing connection takes one.
const (
	first = 11000
	// PeerDistance is how far above its client port a node's peer port is.
	PeerDistance = 10000
	count        = PeerDistance
	draws        = 1000
)

// taken are the ports that this test binary was given, each held against other
// test binaries by a socket of the kernel's abstract namespace: it leaves nothing
// behind, and is gone when the binary is, however that ends.
var (
	takenMu sync.Mutex
	taken   = map[int]net.Listener{}
)

// Free finds a port that is free, as is the one PeerDistance above it,
// and that nobody else is given as long as this test binary runs: not the next
// who asks here, and no test binary that runs beside it, be the port's server
// not started yet or dead for the moment.
func Free(t testing.TB) int {
	t.Helper()
	return Row(t, 1)
}

// Row finds the first of n ports in a row, each of which is one as Free finds.
func Row(t testing.TB, n int) int {
	t.Helper()
	takenMu.Lock()
	defer takenMu.Unlock()
	var last error
	for range draws {
		port := first + rand.IntN(count-n+1)
		if last = takeRow(port, n); last == nil {
			return port
		}
	}
	t.Fatalf("no %d free ports in a row in %d draws: %v", n, draws, last)
	return 0
}

// takeRow takes ports in a row, or none of them.
func takeRow(port, n int) error {
	row := map[int]net.Listener{}
	for p := port; p < port+n; p++ {
		hold, err := take(p)
		if err != nil {
			for _, hold := range row {
				_ = hold.Close()
			}
			return err
		}
		row[p] = hold
	}
	maps.Copy(taken, row)
	return nil
}

// take returns what holds a port, or why nobody may have it.
func take(port int) (net.Listener, error) {
	if taken[port] != nil {
		return nil, fmt.Errorf("port %d was given", port)
	}
	hold, err := net.Listen("unix", fmt.Sprintf("@lockstep-test-port-%d", port))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(free(port), free(port+PeerDistance)); err != nil {
		_ = hold.Close()
		return nil, err
	}
	return hold, nil
}

// free returns why a port is not free, nil if it is.
func free(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}

// FreeAddr is an address of this machine with a free port.
func FreeAddr(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", Free(t))
}
