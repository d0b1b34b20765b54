package tls

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/certs"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// TestTheWrongPort: the connection of a client at the wrong port is closed, and the log gives the
// reason.
func TestTheWrongPort(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	h := newHouse(t, 1, certs.Wish{})
	plain, err := net.Dial("tcp", h.addr(0))
	must(t, err)
	defer plain.Close()
	_, err = plain.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	must(t, err)
	_ = plain.SetReadDeadline(time.Now().Add(patience))
	if got, err := io.ReadAll(plain); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v", got, err)
	}
	proc.Wait(t, patience, "the log says why", func() bool { return strings.Contains(h.Nodes[0].Log(), "it does not speak TLS") })

	if conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", h.Nodes[0].Addr(), h.client(t)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("TLS to the plain port: %v %v", conn, err)
	}
	proc.Wait(t, patience, "the log says why", func() bool {
		return strings.Contains(h.Nodes[0].Log(), "the client speaks TLS, and this port does not")
	})
}

// TestWhoIsLetInByTLS: the TLS port for clients requires a certificate of the authority, and then a
// password, like the plain port.
func TestWhoIsLetInByTLS(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	h := newHouse(t, 1, certs.Wish{})
	ping := func(cfg *tls.Config) (string, error) {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", h.addr(0), cfg)
		if err != nil {
			return "", err
		}
		c := respconn.New(conn)
		defer c.Close()
		v, err := c.Do("PING")
		if err != nil {
			return "", err
		}
		return v.String(), nil
	}
	other := certs.NewAuthority(t, "other").Issue(certs.Wish{})
	for who, cfg := range map[string]*tls.Config{"nobody": certs.ClientTLS(t, nil, h.own), "another authority's": certs.ClientTLS(t, &other, h.own)} {
		if got, err := ping(cfg); err == nil {
			t.Errorf("%s: %s", who, got)
		}
	}
	if got, err := ping(h.client(t)); got != "+PONG" {
		t.Error(got, err)
	}
	proc.MustAsk(t, h.Nodes[0].Addr(), "ACL", "SETUSER", "default", "resetpass", ">pw")
	if got, err := ping(h.client(t)); got != "-NOAUTH Authentication required." {
		t.Error(got, err)
	}
}

// TestHandshakeFlood: the number of connections that never finish the handshake is bounded, so that
// they keep no client out.
func TestHandshakeFlood(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	h := newHouse(t, 1, certs.Wish{})
	const flood = 700
	var all []net.Conn
	for range flood {
		conn, err := net.Dial("tcp", h.addr(0))
		must(t, err)
		defer conn.Close()
		// This is half a record. The rest never comes.
		_, _ = conn.Write([]byte{22, 3, 1, 2, 0})
		all = append(all, conn)
	}
	began := time.Now()
	conn, err := tls.Dial("tcp", h.addr(0), h.client(t))
	must(t, err)
	c := respconn.New(conn)
	defer c.Close()
	if v, err := c.Do("PING"); err != nil || v.String() != "+PONG" {
		t.Error(v, err)
	}
	t.Logf("a client came in within %v of a flood", time.Since(began))
	// The node closed the oldest connections for newer ones, and closes the others when their time
	// is over.
	proc.Wait(t, patience, "the oldest have to go", func() bool {
		return strings.Contains(h.Nodes[0].Log(), "too many handshakes are under way, and this one was the oldest")
	})
	for i, conn := range all {
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d of %d stays open", i, flood)
		}
	}
}

// TestTLSAlone runs a node without a plain port, and with TLS on its HTTP port.
func TestTLSAlone(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	own := certs.NewAuthority(t, "own")
	m := certs.NewMount(t, own.Issue(certs.Wish{}), own)
	port, admin := proc.FreePort(t), proc.FreePort(t)
	args := append([]string{"--port", "0", "--tls-port", strconv.Itoa(port), "--admin-port", strconv.Itoa(admin), "--tls-admin", "yes", "--tls-auth-clients", "optional",
		"--dir", t.TempDir(), "--bind", "127.0.0.1"}, tlsArgs(m)...)
	if out, err := exec.Command(proc.Lockstepd(t), append(args, "--check-config")...).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	wrong := append(args, "--tls-key-file", m.CA(), "--check-config")
	if out, err := exec.Command(proc.Lockstepd(t), wrong...).CombinedOutput(); err == nil {
		t.Error("a key that is none:", string(out))
	}
	cmd := exec.CommandContext(t.Context(), proc.Lockstepd(t), args...)
	must(t, proc.StartMortal(cmd))
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	cfg := certs.ClientTLS(t, nil, own)
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	proc.Wait(t, patience, "it answers", func() bool {
		conn, err := tls.Dial("tcp", addr, cfg)
		if err != nil {
			return false
		}
		c := respconn.New(conn)
		defer c.Close()
		v, err := c.Do("SET", "a", "1")
		return err == nil && v.String() == "+OK"
	})
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}, Timeout: patience}
	for _, path := range []string{"/livez", "/", "/ui/state"} {
		r, err := web.Get(fmt.Sprintf("https://127.0.0.1:%d%s", admin, path))
		must(t, err)
		r.Body.Close()
		if r.StatusCode != http.StatusOK {
			t.Error(path, r.Status)
		}
	}
	if r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/livez", admin)); err == nil {
		defer r.Body.Close()
		if r.StatusCode == http.StatusOK {
			t.Error("plain HTTP is answered")
		}
	}
}

// TestRatio logs what TLS costs a client that sends single commands, and one that uses pipelines.
func TestRatio(t *testing.T) {
	h := newHouse(t, 1, certs.Wish{})
	conn, err := tls.Dial("tcp", h.addr(0), h.client(t))
	must(t, err)
	sealed := respconn.New(conn)
	plain, err := respconn.Dial(h.Nodes[0].Addr())
	must(t, err)
	defer sealed.Close()
	defer plain.Close()
	for _, depth := range []int{1, 100} {
		var commands [][]string
		for range depth {
			commands = append(commands, []string{"GET", "a"})
		}
		speed := func(c *respconn.Conn) float64 {
			began, n := time.Now(), 0
			for ; time.Since(began) < 100*time.Millisecond; n += depth {
				_, err := c.Pipeline(commands...)
				must(t, err)
			}
			return float64(n) / time.Since(began).Seconds()
		}
		// The fastest of several turns counts, because the machine may be busy in others.
		without, with := 0.0, 0.0
		for range 5 {
			without, with = max(without, speed(plain)), max(with, speed(sealed))
		}
		t.Logf("pipeline of %d: %.0f/s plain, %.0f/s under TLS, ratio %.2f", depth, without, with, with/without)
		if with < without/20 {
			t.Errorf("TLS costs more than it can")
		}
	}
}

// TestTheHTTPPortUnderTLS: with mutual TLS the HTTP port answers only clients with a certificate of
// the authority. It uses a new certificate without a restart, and closes a connection that does not
// finish the handshake.
func TestTheHTTPPortUnderTLS(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	h := newHouse(t, 1, certs.Wish{}, "--admin-port", strconv.Itoa(port), "--tls-admin", "mutual")
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	get := func(cfg *tls.Config) (int, error) {
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}, Timeout: patience}
		r, err := web.Get("https://" + addr + "/metrics")
		if err != nil {
			return 0, err
		}
		defer r.Body.Close()
		_, err = io.Copy(io.Discard, r.Body)
		return r.StatusCode, err
	}
	if code, err := get(h.client(t)); code != http.StatusOK || err != nil {
		t.Error(code, err)
	}
	other := certs.NewAuthority(t, "other").Issue(certs.Wish{})
	for who, cfg := range map[string]*tls.Config{"nobody": certs.ClientTLS(t, nil, h.own), "another authority's": certs.ClientTLS(t, &other, h.own)} {
		if code, err := get(cfg); err == nil {
			t.Errorf("%s: %d", who, code)
		}
	}

	pair := h.own.Issue(certs.Wish{})
	h.mount.Set(pair, h.own)
	proc.Wait(t, patience, "the new certificate is shown", func() bool {
		conn, err := tls.Dial("tcp", addr, h.client(t))
		if err != nil {
			return false
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Cmp(pair.Serial) == 0
	})

	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte{22, 3, 1, 2, 0})
	must(t, err)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("half a handshake is waited for without an end")
	}
}

// TestOldVersionsAreNotSpoken: none of the three ports accepts TLS 1.1, and all accept TLS 1.2.
func TestOldVersionsAreNotSpoken(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	h := newHouse(t, 1, certs.Wish{}, "--admin-port", strconv.Itoa(port), "--tls-admin", "yes")
	node := h.own.Issue(certs.Wish{})
	for what, addr := range map[string]string{"clients": h.addr(0), "peers": h.Nodes[0].PeerAddr(), "HTTP": fmt.Sprintf("127.0.0.1:%d", port)} {
		cfg := certs.ClientTLS(t, &node, h.own)
		cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if conn, err := tls.Dial("tcp", addr, cfg); err == nil || !strings.Contains(err.Error(), "protocol version") {
			t.Errorf("the port for %s speaks TLS 1.1: %v, %v", what, conn, err)
		}
		cfg.MaxVersion = tls.VersionTLS12
		conn, err := tls.Dial("tcp", addr, cfg)
		if err != nil {
			t.Errorf("the port for %s does not speak TLS 1.2: %v", what, err)
			continue
		}
		conn.Close()
	}
}
