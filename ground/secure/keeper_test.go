package secure_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/ground/secure"
	"lockstep/tests/kit/certs"
)

func options(m *certs.Mount) func() secure.Options {
	return func() secure.Options {
		return secure.Options{Files: secure.Files{Cert: m.Cert(), Key: m.Key(), CAFile: m.CA()}, Clients: tls.RequireAndVerifyClientCert}
	}
}

func open(t *testing.T, m *certs.Mount, log io.Writer) *secure.Keeper {
	t.Helper()
	k, err := secure.Open(options(m), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// shake connects two configurations and returns both sides' errors.
func shake(t *testing.T, server, client *tls.Config) (state tls.ConnectionState, served, dialled error) {
	t.Helper()
	// A pipe has no buffer: each side would wait until the other reads its alert.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	var wait sync.WaitGroup
	wait.Go(func() {
		s := tls.Server(a, server)
		_ = s.SetDeadline(time.Now().Add(20 * time.Second))
		served = s.Handshake()
		if served == nil {
			_, _ = s.Write([]byte("x"))
		}
		_ = a.Close()
	})
	c := tls.Client(b, client)
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if dialled = c.Handshake(); dialled == nil {
		// With TLS 1.3 the dialling side learns of a refusal when it reads.
		_, dialled = c.Read(make([]byte, 1))
	}
	state = c.ConnectionState()
	_ = b.Close()
	wait.Wait()
	return state, served, dialled
}

func TestPeersKnowEachOtherByTheirAuthority(t *testing.T) {
	own, other := certs.NewAuthority(t, "own"), certs.NewAuthority(t, "other")
	k := open(t, certs.NewMount(t, own.Issue(certs.Wish{}), own), io.Discard)
	if _, served, dialled := shake(t, k.Accepting(), k.Dialling("127.0.0.1")); served != nil || dialled != nil {
		t.Fatal(served, dialled)
	}
	for name, m := range map[string]*certs.Mount{
		"another authority": certs.NewMount(t, other.Issue(certs.Wish{}), own),
		"an expired one":    certs.NewMount(t, own.Issue(certs.Wish{Lasts: -time.Hour}), own),
		"a client's":        certs.NewMount(t, own.Issue(certs.Wish{ClientOnly: true}), own),
	} {
		if _, served, dialled := shake(t, k.Accepting(), open(t, m, io.Discard).Dialling("127.0.0.1")); served == nil || dialled == nil {
			t.Errorf("%s comes in: %v, %v", name, served, dialled)
		}
	}
	for name, m := range map[string]*certs.Mount{
		"another authority": certs.NewMount(t, other.Issue(certs.Wish{}), own),
		"another name":      certs.NewMount(t, own.Issue(certs.Wish{Names: []string{"elsewhere.example"}}), own),
	} {
		if _, _, dialled := shake(t, open(t, m, io.Discard).Accepting(), k.Dialling("127.0.0.1")); dialled == nil {
			t.Errorf("the dialled peer has %s", name)
		}
	}
	if _, served, _ := shake(t, k.Accepting(), certs.ClientTLS(t, nil, own)); served == nil {
		t.Error("without a certificate")
	}
}

// A name that all nodes share replaces the address and the right to serve in the check.
func TestPeerNameIsCheckedInBothDirections(t *testing.T) {
	a := certs.NewAuthority(t, "own")
	named := func(w certs.Wish) *secure.Keeper {
		o := options(certs.NewMount(t, a.Issue(w), a))
		k, err := secure.Open(func() secure.Options { o := o(); o.PeerName = "peers.example"; return o }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	k, plain := named(certs.Wish{Names: []string{"peers.example"}}), named(certs.Wish{})
	if _, served, dialled := shake(t, k.Accepting(), k.Dialling("10.1.2.3")); served != nil || dialled != nil {
		t.Error(served, dialled)
	}
	if _, served, _ := shake(t, k.Accepting(), plain.Dialling("x")); served == nil {
		t.Error("who dials does not bear the name")
	}
	if _, _, dialled := shake(t, plain.Accepting(), k.Dialling("127.0.0.1")); dialled == nil {
		t.Error("the dialled peer does not bear the name")
	}
	// A client has a name of its own.
	if _, _, dialled := shake(t, plain.Accepting(), k.DiallingOut("127.0.0.1")); dialled != nil {
		t.Error(dialled)
	}
	if _, _, dialled := shake(t, plain.Accepting(), k.DiallingOut("10.1.2.3")); dialled == nil {
		t.Error("a server that is no node bears another name than that by which it is dialled")
	}
}

func TestBrokenFilesChangeNothing(t *testing.T) {
	a := certs.NewAuthority(t, "own")
	first, second := a.Issue(certs.Wish{}), a.Issue(certs.Wish{})
	m := certs.NewMount(t, first, a)
	var log bytes.Buffer
	k := open(t, m, &log)
	serial := func() string { return k.Front().Certificates[0].Leaf.SerialNumber.String() }
	for name, p := range map[string]certs.Pair{
		"of different pairs": {Cert: first.Cert, Key: second.Key}, "cut off": {Cert: first.Cert[:100], Key: first.Key}, "empty": {},
		"encrypted": {Cert: first.Cert, Key: []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")},
	} {
		log.Reset()
		m.Set(p, a)
		for range 2 { // only one of them is logged
			if k.Reload() == nil {
				t.Errorf("files that are %s were taken", name)
			}
		}
		if serial() != first.Serial.String() || k.Report().Problem == "" || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("files that are %s: %s, %q\n%s", name, serial(), k.Report().Problem, log.String())
		}
	}
	m.Set(second, a)
	if err := k.Reload(); err != nil || serial() != second.Serial.String() || k.Report().Problem != "" || k.Report().Reloads != 1 {
		t.Error(err, serial(), k.Report())
	}
	if err := k.Reload(); err != nil || k.Report().Reloads != 1 {
		t.Error("the same files are news")
	}
	if err := os.Remove(m.Key()); err != nil || k.Reload() == nil || serial() != second.Serial.String() {
		t.Error("a file that is gone", err)
	}
}

// Files that are complete but would make all other nodes refuse this node do not replace a good
// certificate. If the current one is no better, they do.
func TestAGoodCertificateDoesNotGiveWayToAUselessOne(t *testing.T) {
	a := certs.NewAuthority(t, "own")
	nodes := certs.Wish{Names: []string{"nodes", "localhost"}}
	first, foreign, expired, next := a.Issue(nodes), a.Issue(certs.Wish{Names: []string{"localhost"}}), a.Issue(certs.Wish{Names: nodes.Names, Lasts: -time.Hour}), a.Issue(nodes)
	m := certs.NewMount(t, first, a)
	k, err := secure.Open(func() secure.Options {
		o := options(m)()
		o.PeerName = "nodes"
		return o
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() string { return k.Front().Certificates[0].Leaf.SerialNumber.String() }
	for why, p := range map[string]certs.Pair{"is good from": expired, "has not the name": foreign} {
		m.Set(p, a)
		if err := k.Reload(); err == nil || !strings.Contains(err.Error(), why) || serial() != first.Serial.String() || !strings.Contains(k.Report().Problem, why) {
			t.Errorf("%s: %v, %s, %q", why, err, serial(), k.Report().Problem)
		}
	}
	m.Set(next, a)
	if err := k.Reload(); err != nil || serial() != next.Serial.String() || k.Report().Problem != "" {
		t.Error(err, serial(), k.Report())
	}
	// An expired certificate may be replaced by another expired one.
	old := certs.NewMount(t, expired, a)
	k = open(t, old, io.Discard)
	other := a.Issue(certs.Wish{Lasts: -time.Hour})
	old.Set(other, a)
	if err := k.Reload(); err != nil || serial() != other.Serial.String() {
		t.Error(err, serial())
	}
}

// Connections are made while certificates change: each uses one generation.
func TestReloadsBesideConnections(t *testing.T) {
	a := certs.NewAuthority(t, "own")
	m := certs.NewMount(t, a.Issue(certs.Wish{}), a)
	k := open(t, m, io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() { k.Run(ctx) })
	for range 4 {
		wait.Go(func() {
			for ctx.Err() == nil {
				if _, served, dialled := shake(t, k.Accepting(), k.Dialling("127.0.0.1")); served != nil || dialled != nil {
					t.Error(served, dialled)
					return
				}
				_, _ = k.Front(), k.Report()
			}
		})
	}
	for range 10 {
		m.Set(a.Issue(certs.Wish{}), a)
		if err := k.Reload(); err != nil {
			t.Error(err)
		}
	}
	stop()
	wait.Wait()
	if n := k.Report().Reloads; n < 10 {
		t.Errorf("%d reloads", n)
	}
}

func TestCiphersAndProtocols(t *testing.T) {
	for text, n := range map[string]int{
		"": 0, "DEFAULT:!MEDIUM": 0, "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384": 2, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": 1,
	} {
		if got, err := secure.Ciphers(text); err != nil || len(got) != n {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"RC4-MD5", "AES128-SHA", "!ECDHE-RSA-AES128-GCM-SHA256"} {
		if _, err := secure.Ciphers(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	for text, want := range map[string][2]uint16{
		"": {tls.VersionTLS12, tls.VersionTLS13}, "TLSv1.2": {tls.VersionTLS12, tls.VersionTLS12}, "TLSv1.3": {tls.VersionTLS13, tls.VersionTLS13}, "TLSv1.3 TLSv1.2": {tls.VersionTLS12, tls.VersionTLS13},
	} {
		if oldest, newest, err := secure.Protocols(text); err != nil || [2]uint16{oldest, newest} != want {
			t.Errorf("%q: %x %x %v", text, oldest, newest, err)
		}
	}
	for _, text := range []string{"TLSv1.1 TLSv1.2", "SSLv3"} {
		if _, _, err := secure.Protocols(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
