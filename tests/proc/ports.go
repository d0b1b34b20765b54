package proc

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// Client ports are drawn from a range that, like the peer ports 10000 above,
// lies below the ports the kernel hands out by itself, so that no outgoing
// connection takes one.
const (
	firstPort        = 11000
	ports            = 11000
	peerPortDistance = 10000
)

var (
	portsMu sync.Mutex
	given   = map[int]bool{}
)

// FreePort finds a port that is free, as is the one peerPortDistance above it,
// and that this test binary has not been given before.
func FreePort(t testing.TB) int {
	t.Helper()
	portsMu.Lock()
	defer portsMu.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(ports)
		if !given[port] && free(port) && free(port+peerPortDistance) {
			given[port] = true
			return port
		}
	}
	t.Fatal("no free port in 1000 draws")
	return 0
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	l.Close()
	return true
}
