package proc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Client ports are drawn from a range below that of the peer ports, 10000 above
// them, and both lie below the ports the kernel hands out by itself, so that no
// outgoing connection takes one.
const (
	firstPort        = 11000
	peerPortDistance = 10000
	ports            = peerPortDistance
	portDraws        = 1000
)

// taken are the ports that this test binary was given, each held against other
// test binaries by a socket of the kernel's abstract namespace: it leaves nothing
// behind, and is gone when the binary is, however that ends.
var (
	takenMu sync.Mutex
	taken   = map[int]net.Listener{}
)

// FreePort finds a port that is free, as is the one peerPortDistance above it,
// and that nobody else is given as long as this test binary runs: not the next
// who asks here, and no test binary that runs beside it, be the port's server
// not started yet or dead for the moment.
func FreePort(t testing.TB) int {
	t.Helper()
	takenMu.Lock()
	defer takenMu.Unlock()
	var last error
	for range portDraws {
		port := firstPort + rand.IntN(ports)
		if taken[port] != nil {
			continue
		}
		hold, err := net.Listen("unix", fmt.Sprintf("@lockstep-test-port-%d", port))
		if err != nil {
			last = err
			continue
		}
		if err := errors.Join(free(port), free(port+peerPortDistance)); err != nil {
			last = err
			_ = hold.Close()
			continue
		}
		taken[port] = hold
		return port
	}
	t.Fatalf("no free port in %d draws: %v", portDraws, last)
	return 0
}

// free returns why a port is not free, nil if it is.
func free(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}
