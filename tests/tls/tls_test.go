// Package tls runs clusters of real processes under TLS, with clients, strangers that pose as
// peers, certificates that change, and hostile connections.
package tls

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"lockstep/tests/kit/certs"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 60 * time.Second

// house is a cluster that uses TLS.
type house struct {
	*proc.Cluster
	own   *certs.Authority
	mount *certs.Mount
	ports []string
}

func tlsArgs(m *certs.Mount) []string {
	return []string{"--tls-cert-file", m.Cert(), "--tls-key-file", m.Key(), "--tls-ca-cert-file", m.CA(), "--tls-cluster", "yes"}
}

// newHouse starts n nodes that share the same certificate files. They use TLS with each other, and
// have a TLS port for clients beside the plain one.
func newHouse(t *testing.T, n int, pair certs.Wish, args ...string) *house {
	t.Helper()
	proc.NeedProcesses(t)
	h := &house{own: certs.NewAuthority(t, "own")}
	h.mount = certs.NewMount(t, h.own.Issue(pair), h.own)
	h.Cluster = proc.NewCluster(t, n, proc.Options{Args: append(tlsArgs(h.mount), args...), Before: func(node *proc.Node) {
		port := strconv.Itoa(proc.FreePort(t))
		h.ports = append(h.ports, port)
		node.Flags("--tls-port", port)
	}})
	return h
}

func (h *house) addr(i int) string { return "127.0.0.1:" + h.ports[i] }

// client returns the TLS configuration of a client with a certificate.
func (h *house) client(t *testing.T) *tls.Config {
	t.Helper()
	p := h.own.Issue(certs.Wish{ClientOnly: true})
	return certs.ClientTLS(t, &p, h.own)
}

// files writes the certificate files of a client, and returns their paths.
func (h *house) files(t *testing.T) (ca, cert, key string) {
	t.Helper()
	m := certs.NewMount(t, h.own.Issue(certs.Wish{ClientOnly: true}), h.own)
	return m.CA(), m.Cert(), m.Key()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func follower(h *house) int {
	f := h.Follower()
	return slices.Index(h.Nodes, f)
}

func TestClientsOverTLS(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	h := newHouse(t, 3, certs.Wish{Lasts: 20 * 24 * time.Hour})
	at := follower(h)
	t.Run("redis-cli", func(t *testing.T) { h.redisCLI(t, at) })
	t.Run("go-redis", func(t *testing.T) { h.goRedis(t, at) })
	t.Run("rueidis", func(t *testing.T) { h.rueidis(t, at) })
	t.Run("cluster", func(t *testing.T) { h.announcements(t, at) })
	t.Run("info", func(t *testing.T) {
		info := proc.Info(h.Nodes[at].Addr(), "tls")
		left, _ := strconv.Atoi(info["tls_cert_expires_in_seconds"])
		if info["tls_port"] != h.ports[at] || info["tls_cluster"] != "yes" || left < 19*24*3600 || left > 20*24*3600 || info["tls_reload_problem"] != "" {
			t.Error(info)
		}
	})
	t.Run("clusterctl", func(t *testing.T) { h.clusterctl(t, at) })
}

func (h *house) redisCLI(t *testing.T, at int) {
	ca, cert, key := h.files(t)
	cli := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		out, err := exec.CommandContext(ctx, proc.Tool(t, "redis-cli"), append([]string{"-p", h.ports[at], "--tls", "--cacert", ca}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	mine := []string{"--cert", cert, "--key", key}
	for _, c := range []struct{ args, want string }{{"SET a 1", "OK"}, {"INCR a", "2"}, {"-c GET a", "2"}} {
		if got, err := cli(append(mine, strings.Fields(c.args)...)...); got != c.want || err != nil {
			t.Errorf("%s: %q %v", c.args, got, err)
		}
	}
	copied := filepath.Join(t.TempDir(), "copy.rdb")
	if got, err := cli(append(mine, "--rdb", copied)...); err != nil || !strings.Contains(got, "finished with success") {
		t.Errorf("--rdb: %q %v", got, err)
	}
	if got, err := cli("GET", "a"); err == nil && !strings.Contains(got, "rror") {
		t.Errorf("without a certificate: %q", got)
	}
}

func (h *house) goRedis(t *testing.T, at int) {
	c := redis.NewClient(&redis.Options{Addr: h.addr(at), TLSConfig: h.client(t), ReadTimeout: patience, WriteTimeout: patience})
	defer c.Close()
	big := strings.Repeat("x", 3<<20)
	must(t, c.Set(t.Context(), "big", big, 0).Err())
	if got, err := c.Get(t.Context(), "big").Result(); err != nil || got != big {
		t.Error(len(got), err)
	}
	p := c.Pipeline()
	for i := range 5000 {
		p.Incr(t.Context(), "n")
		p.Get(t.Context(), fmt.Sprint("none", i))
	}
	_, _ = p.Exec(t.Context()) // the error is redis.Nil
	if n, err := c.Get(t.Context(), "n").Int(); n != 5000 {
		t.Error(n, err)
	}
	if err := redis.NewClient(&redis.Options{Addr: h.addr(at), TLSConfig: certs.ClientTLS(t, nil, h.own), MaxRetries: -1}).Ping(t.Context()).Err(); err == nil {
		t.Error("without a certificate")
	}
	other := certs.NewAuthority(t, "other").Issue(certs.Wish{})
	if err := redis.NewClient(&redis.Options{Addr: h.addr(at), TLSConfig: certs.ClientTLS(t, &other, h.own), MaxRetries: -1}).Ping(t.Context()).Err(); err == nil {
		t.Error("with another authority's certificate")
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{h.addr(at)}, TLSConfig: h.client(t), ReadTimeout: patience})
	defer cluster.Close()
	must(t, cluster.Set(t.Context(), "by cluster", "1", 0).Err())
}

func (h *house) rueidis(t *testing.T, at int) {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{h.addr(at)}, TLSConfig: h.client(t), ConnWriteTimeout: patience})
	must(t, err)
	defer c.Close()
	must(t, c.Do(t.Context(), c.B().Set().Key("rueidis").Value("1").Build()).Error())
	got, err := c.DoCache(t.Context(), c.B().Get().Key("rueidis").Cache(), time.Minute).ToString()
	if got != "1" || err != nil {
		t.Error(got, err)
	}
}

// announcements checks that a client gets the ports of the kind that it is connected to.
func (h *house) announcements(t *testing.T, at int) {
	conn, err := tls.Dial("tcp", h.addr(at), h.client(t))
	must(t, err)
	secured, plain := respconn.New(conn), proc.Dial(t, h.Nodes[at].Addr())
	defer secured.Close()
	port := func(i int) string { return strconv.Itoa(h.Nodes[i].Port) }
	proc.Wait(t, patience, "the TLS ports are told", func() bool {
		got := proc.Do(t, plain, "CLUSTER", "SHARDS")
		return strings.Count(got, "tls-port") == 3 && !slices.ContainsFunc(h.ports, func(p string) bool { return !strings.Contains(got, ":"+p) })
	})
	for _, command := range []string{"SLOTS", "NODES"} {
		over, err := secured.Do("CLUSTER", command)
		must(t, err)
		under := proc.Do(t, plain, "CLUSTER", command)
		for i := range h.Nodes {
			if !strings.Contains(over.String(), ":"+h.ports[i]) || strings.Contains(over.String(), ":"+port(i)+"@") {
				t.Errorf("over TLS CLUSTER %s says %s", command, over)
			}
			if strings.Contains(under, ":"+h.ports[i]) || !strings.Contains(under, ":"+port(i)) {
				t.Errorf("plainly CLUSTER %s says %s", command, under)
			}
		}
	}
	_, err = secured.Do("CONFIG", "SET", "routing", "redirect")
	must(t, err)
	over, under := "", ""
	if !proc.Poll(patience, func() bool {
		at := slices.Index(h.Nodes, h.WaitLeader())
		v, err := secured.Do("GET", "a")
		must(t, err)
		over, under = v.String(), proc.Do(t, plain, "GET", "a")
		return strings.Contains(over, "MOVED") && strings.HasSuffix(over, ":"+h.ports[at]) && strings.HasSuffix(under, ":"+port(at))
	}) {
		t.Errorf("over TLS: %s, plainly: %s", over, under)
	}
	_, err = secured.Do("CONFIG", "SET", "routing", "forward")
	must(t, err)
}

func (h *house) clusterctl(t *testing.T, at int) {
	ca, cert, key := h.files(t)
	ctl := func(args ...string) (string, int) { return proc.Ctl(t, h.addr(at), args...) }
	with := []string{"--tls", "--cacert", ca, "--cert", cert, "--key", key}
	proc.Wait(t, patience, "the cluster is healthy", func() bool {
		out, code := ctl(append(with, "status")...)
		return code == 0 && strings.Contains(out, "healthy")
	})
	if out, code := ctl(append(with, "bench", "--for", "300ms", "-c", "4")...); code != 0 || !strings.Contains(out, "calls/s") {
		t.Error(out, code)
	}
	folder := filepath.Join(t.TempDir(), "b")
	if out, code := ctl(append(with, "backup", "--to", folder)...); code != 0 || !strings.Contains(out, "written to") {
		t.Error(out, code)
	}
	if out, code := ctl(append(with, "restore", "--from", folder)...); code == 0 || !strings.Contains(out, "not empty") {
		t.Error(out, code)
	}
	if out, code := ctl(append(with, "support-bundle", filepath.Join(folder, "bundle.tar.gz"))...); code != 0 || !strings.Contains(out, "of 3 of 3 nodes") {
		t.Error(out, code)
	}
	if out, code := ctl("--tls", "status"); code == 0 || !strings.Contains(out, "certificate") {
		t.Error("an unknown authority:", out)
	}
	if out, code := ctl("--insecure", "status"); code == 0 || !strings.Contains(out, "--tls") {
		t.Error("--insecure alone:", out)
	}
	proc.Wait(t, patience, "it is, also for a client that checks nothing", func() bool {
		out, code := ctl("--tls", "--insecure", "--cert", cert, "--key", key, "status")
		return code == 0 && strings.Contains(out, "not checked")
	})
	out, _ := ctl(append(with, "doctor", "-o", "json")...)
	var report struct {
		Findings []struct{ Level, Check, What string } `json:"findings"`
	}
	must(t, json.Unmarshal([]byte(out), &report))
	found := 0
	for _, f := range report.Findings {
		if f.Check == "certificates" && f.Level == "risk" && strings.Contains(f.What, "expires in 19 days") {
			found++
		}
	}
	if found != 3 {
		t.Errorf("%d certificates that end soon were found: %s", found, out)
	}
}

// TestStrangersAmongPeers: a peer without a node's certificate does not become a member, and gets
// no byte of data.
func TestStrangersAmongPeers(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	h := newHouse(t, 1, certs.Wish{})
	h.Nodes[0].WaitReady()
	other := certs.NewAuthority(t, "other")
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"another authority", tlsArgs(certs.NewMount(t, other.Issue(certs.Wish{}), other)), "unknown authority"},
		{"another authority's certificate", tlsArgs(certs.NewMount(t, other.Issue(certs.Wish{}), h.own)), "tls: "},
		{"expired", tlsArgs(certs.NewMount(t, h.own.Issue(certs.Wish{Lasts: -time.Hour}), h.own)), "tls: "},
		{"a client's", tlsArgs(certs.NewMount(t, h.own.Issue(certs.Wish{ClientOnly: true}), h.own)), "tls: "},
		{"no TLS", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			port := proc.FreePort(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			args := append([]string{"--port", strconv.Itoa(port), "--peer-port", strconv.Itoa(port + 10000), "--bind", "127.0.0.1", "--dir", dir, "--join", h.Nodes[0].PeerAddr(), "--node-name", "stranger"}, c.args...)
			cmd := exec.CommandContext(ctx, proc.Lockstepd(t), args...)
			path := filepath.Join(t.TempDir(), "log")
			out, err := os.Create(path)
			must(t, err)
			defer out.Close()
			cmd.Stdout, cmd.Stderr = out, out
			refused := strings.Count(h.Nodes[0].Log(), "peer connection refused")
			must(t, proc.StartMortal(cmd))
			defer func() { cancel(); _ = cmd.Wait() }()
			proc.Wait(t, patience, "it is refused", func() bool {
				text, _ := os.ReadFile(path)
				return strings.Count(h.Nodes[0].Log(), "peer connection refused") > refused && strings.Contains(string(text), c.says)
			})
			if nodes, err := proc.Ask(h.Nodes[0].Addr(), "LOCKSTEP", "STATUS"); err != nil || strings.Contains(nodes, "stranger") {
				t.Error(nodes, err)
			}
		})
	}
	t.Run("bytes", func(t *testing.T) {
		conn, err := net.Dial("tcp", h.Nodes[0].PeerAddr())
		must(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte("LSP\x01\x01\x00\x00\x00\x00\x00\x01x\x00"))
		must(t, err)
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if got, _ := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("%q", got)
		}
	})
	t.Run("another name", func(t *testing.T) { dialAnotherName(t, h) })
}

// dialAnotherName: a node sends nothing to a peer whose certificate does not have the name that it
// has dialled.
func dialAnotherName(t *testing.T, h *house) {
	t.Helper()
	k := certs.NewMount(t, h.own.Issue(certs.Wish{Names: []string{"elsewhere.example"}}), h.own)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	must(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
	pair, err := tls.LoadX509KeyPair(k.Cert(), k.Key())
	must(t, err)
	got := make(chan []byte, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- []byte(err.Error())
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		under := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12})
		b, _ := io.ReadAll(under)
		got <- b
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	port := proc.FreePort(t)
	cmd := exec.CommandContext(ctx, proc.Lockstepd(t), append([]string{"--port", strconv.Itoa(port), "--peer-port", strconv.Itoa(port + 10000), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--join", l.Addr().String()}, tlsArgs(h.mount)...)...)
	must(t, proc.StartMortal(cmd))
	defer func() { cancel(); _ = cmd.Wait() }()
	if b := <-got; len(b) > 0 {
		t.Errorf("it was sent %q", b)
	}
}

// load opens connections all the time, and increments a counter on each of them.
type load struct {
	calls, errors atomic.Int64
	last          atomic.Value
	wait          sync.WaitGroup
	stop          context.CancelFunc
}

func startLoad(t *testing.T, h *house, cfg func() *tls.Config) *load {
	l := &load{}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	for i := range 4 {
		l.wait.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				c := redis.NewClient(&redis.Options{Addr: h.addr((i + n) % len(h.ports)), TLSConfig: cfg(), MaxRetries: -1, PoolSize: 1, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience})
				for range 20 {
					if err := c.Incr(context.WithoutCancel(ctx), "load").Err(); err != nil {
						l.errors.Add(1)
						l.last.Store(err.Error())
					}
					l.calls.Add(1)
				}
				c.Close()
			}
		})
	}
	return l
}

func (l *load) end(t *testing.T) {
	t.Helper()
	l.stop()
	l.wait.Wait()
	t.Logf("%d calls", l.calls.Load())
	if n := l.errors.Load(); n > 0 || l.calls.Load() == 0 {
		t.Errorf("%d of %d calls failed: %v", n, l.calls.Load(), l.last.Load())
	}
}

// await waits until every node uses a certificate for new connections.
func (h *house) await(t *testing.T, p certs.Pair, cfg *tls.Config) {
	t.Helper()
	for i := range h.ports {
		proc.Wait(t, patience, "the new certificate is shown", func() bool {
			conn, err := tls.Dial("tcp", h.addr(i), cfg)
			if err != nil {
				return false
			}
			defer conn.Close()
			return conn.ConnectionState().PeerCertificates[0].SerialNumber.Cmp(p.Serial) == 0
		})
	}
}

// TestRotation changes the certificates and then the authority under load, without a restart of the
// nodes and without an error.
func TestRotation(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	h := newHouse(t, 3, certs.Wish{})
	fresh := certs.NewAuthority(t, "fresh")
	mine := h.own.Issue(certs.Wish{ClientOnly: true})
	both := certs.ClientTLS(t, &mine, h.own, fresh)
	var current atomic.Pointer[tls.Config]
	current.Store(both)
	l := startLoad(t, h, current.Load)

	pair := h.own.Issue(certs.Wish{})
	h.mount.Set(pair, h.own)
	h.await(t, pair, both)

	// The authority changes in steps: first all nodes trust both authorities, then the certificates
	// change, and then the old authority is removed.
	h.mount.Set(pair, h.own, fresh)
	for _, n := range h.Nodes {
		proc.Wait(t, patience, "both authorities are trusted", func() bool {
			reloads, _ := strconv.Atoi(proc.Info(n.Addr(), "tls")["tls_reloads"])
			return reloads >= 2
		})
	}
	theirs := fresh.Issue(certs.Wish{ClientOnly: true})
	current.Store(certs.ClientTLS(t, &theirs, h.own, fresh))
	pair = fresh.Issue(certs.Wish{})
	h.mount.Set(pair, h.own, fresh)
	h.await(t, pair, current.Load())
	h.mount.Set(pair, fresh)
	proc.Wait(t, patience, "the old authority is trusted no more", func() bool {
		for i := range h.ports {
			c := redis.NewClient(&redis.Options{Addr: h.addr(i), TLSConfig: both, MaxRetries: -1})
			err := c.Ping(t.Context()).Err()
			c.Close()
			if err == nil {
				return false
			}
		}
		return true
	})
	l.end(t)

	// The restart of a node breaks all its connections, so the peers connect again under the new
	// authority.
	node := h.Follower()
	node.Stop()
	node.Start()
	node.WaitReady()
	conn := proc.Dial(t, node.Addr())
	if got := proc.Do(t, conn, "INCR", "load"); !strings.HasPrefix(got, ":") {
		t.Error(got)
	}
	// CONFIG SET refuses a broken file, and the old certificate stays in use.
	if got := proc.Do(t, conn, "CONFIG", "SET", "tls-cert-file", h.mount.CA()); !strings.HasPrefix(got, "-ERR CONFIG SET failed") {
		t.Error(got)
	}
	if got := proc.Do(t, conn, "CONFIG", "SET", "tls-cert-file", h.mount.Cert()); got != "+OK" {
		t.Error(got)
	}
	h.await(t, pair, current.Load())
}

// TestMigrateOverTLS: if the nodes use TLS with each other, MIGRATE uses TLS, too, as in Redis. It
// shows the node's certificate, and verifies the target's.
func TestMigrateOverTLS(t *testing.T) {
	h := newHouse(t, 1, certs.Wish{})
	own, strange := h.ports[0], newHouse(t, 1, certs.Wish{}).ports[0]
	for _, step := range [][2]string{
		{"SET a 1", "OK"},
		{"MIGRATE 127.0.0.1 " + strange + " a 0 20000", "IOERR error or timeout connecting to the client"},
		{"MIGRATE 127.0.0.1 " + own + " a 5 20000", "OK"},
		{"EXISTS a", "0"},
	} {
		got, err := proc.Ask(h.Nodes[0].Addr(), strings.Fields(step[0])...)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, step[1]) {
			t.Errorf("%s: %s", step[0], got)
		}
	}
}
