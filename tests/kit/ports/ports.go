// Package ports finds ports for tests that run in parallel with others.
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

// Client ports are chosen from a range below that of the peer ports, which are 10000 higher. Both
// ranges lie below the ports that the kernel assigns by itself, so no outgoing connection takes one
// of them.
const (
	first = 11000
	// PeerDistance is how far above its client port a node's peer port is.
	PeerDistance = 10000
	count        = PeerDistance
	draws        = 1000
)

// taken are the ports that this test binary has been given. A socket in the kernel's abstract
// namespace protects each from other test binaries. Such a socket leaves no file behind, and
// disappears when the binary ends, however that happens.
var (
	takenMu sync.Mutex
	taken   = map[int]net.Listener{}
)

// Free returns a port that is free, as is the port PeerDistance above it. No other caller gets the
// port while this test binary runs, in this binary or in one that runs in parallel, even while the
// server of the port is not started yet or is dead.
func Free(t testing.TB) int {
	t.Helper()
	return Row(t, 1)
}

// Row returns the first of n consecutive ports, each of which is as Free returns them.
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

// takeRow takes consecutive ports, or none of them.
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

// take returns a socket that protects a port, or an error if the port cannot be had.
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

// free returns why a port is not free, or nil if it is.
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
