package sight

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// TestWhoRestsOnTheAdminPortKeepsNobodyOut: the number of idle connections to the admin port is
// bounded, so that they keep no probe out. A new connection closes the one that has been idle
// longest.
func TestWhoRestsOnTheAdminPortKeepsNobodyOut(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	n := &seen{proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(port)}}), fmt.Sprintf("http://127.0.0.1:%d", port)}
	n.await(t, "/readyz", http.StatusOK)
	before := openFiles(t, n)
	const resting, bound = 700, 256
	var first, last net.Conn
	for i := range resting {
		last = rest(t, n)
		if i == 0 {
			first = last
		}
	}
	n.expect(t, "/livez", http.StatusOK)
	n.expect(t, "/metrics", http.StatusOK)
	const slack = 40 // connections take a moment to close, and the node has clients of its own
	proc.Wait(t, patience, "no more than the bound are kept", func() bool { return openFiles(t, n) <= before+bound+slack })
	_ = first.SetReadDeadline(time.Now().Add(patience))
	if _, err := first.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the oldest is still there: %v", err)
	}
	if err := look(last); err != nil {
		t.Errorf("the newest is served no more: %v", err)
	}
}

// TestWhoDawdlesOnTheAdminPortKeepsNobodyOut: requests whose bodies never come get an answer in the
// end, and keep no probe out meanwhile. A new connection closes the one whose request has taken
// longest. Which one that is depends on when the node read each request, but some of the last ones
// must stay.
func TestWhoDawdlesOnTheAdminPortKeepsNobodyOut(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	n := &seen{proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(port)}}), fmt.Sprintf("http://127.0.0.1:%d", port)}
	n.await(t, "/readyz", http.StatusOK)
	const dawdling = 300
	var all []net.Conn
	for range dawdling {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.admin, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: node\r\nContent-Length: 9\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		all = append(all, conn)
	}
	for range 20 {
		rest(t, n)
	}
	answered := 0
	for _, conn := range all[dawdling-100:] {
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if answer, err := io.ReadAll(conn); err == nil && strings.HasPrefix(string(answer), "HTTP/1.1 200 OK") {
			answered++
		}
	}
	if answered < 50 {
		t.Errorf("of the last hundred who send no body %d are answered", answered)
	}
}

// openFiles counts the open files of the node.
func openFiles(t *testing.T, n *seen) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// rest opens a connection, sends one request, and leaves the connection open.
func rest(t *testing.T, n *seen) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(n.admin, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := look(conn); err != nil {
		t.Fatal(err)
	}
	return conn
}

// look requests the liveness probe.
func look(conn net.Conn) error {
	if _, err := io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: node\r\n\r\n"); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}
