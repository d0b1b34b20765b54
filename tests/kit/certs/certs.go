// Package certs makes certificates for tests: authorities, and certificates signed by them.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is the authority's certificate.
	PEM []byte
}

var serial atomic.Int64

// NewAuthority makes an authority.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, a.PEM = sign(t, template, template, a.key, a.key)
	return a
}

// Wish describes a certificate. The zero value is the certificate of a node on this machine, valid
// for ninety days.
type Wish struct {
	// Names are host names and addresses. With nil they are those of this machine.
	Names []string
	// Lasts is how long the certificate is valid. If it is negative, the certificate has expired.
	Lasts time.Duration
	// ClientOnly makes a certificate that is valid only for clients.
	ClientOnly bool
}

// Pair is a certificate and its key, in PEM.
type Pair struct {
	Cert, Key []byte
	Serial    *big.Int
}

// Issue makes a certificate.
func (a *Authority) Issue(w Wish) Pair {
	a.t.Helper()
	if w.Names == nil {
		w.Names = []string{"localhost", "127.0.0.1", "::1"}
	}
	if w.Lasts == 0 {
		w.Lasts = 90 * 24 * time.Hour
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: "a test's"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(w.Lasts), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if w.ClientOnly {
		template.ExtKeyUsage = template.ExtKeyUsage[:1]
	}
	for _, name := range w.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key := newKey(a.t)
	_, certPEM := sign(a.t, template, a.cert, key, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return Pair{certPEM, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), template.SerialNumber}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, []byte) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Mount is a folder as Kubernetes mounts a secret: its files are links into another folder, and
// replacing a single link changes all of them.
type Mount struct {
	t       testing.TB
	dir     string
	version int
	// group may read the files. With -1 only their owner may.
	group int
}

// NewMount makes a mount with a pair and authorities.
func NewMount(t testing.TB, p Pair, authorities ...*Authority) *Mount {
	t.Helper()
	return NewMountAt(t, t.TempDir(), -1, p, authorities...)
}

// NewMountAt makes a mount in an existing folder, for a group (Kubernetes: fsGroup).
func NewMountAt(t testing.TB, dir string, group int, p Pair, authorities ...*Authority) *Mount {
	t.Helper()
	m := &Mount{t: t, dir: dir, group: group}
	m.Set(p, authorities...)
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		m.must(os.Symlink(filepath.Join("..data", name), filepath.Join(m.dir, name)))
	}
	return m
}

// Set replaces all files at one instant.
func (m *Mount) Set(p Pair, authorities ...*Authority) {
	m.t.Helper()
	m.version++
	name := "..v" + string(rune('a'+m.version))
	dir := filepath.Join(m.dir, name)
	m.must(os.Mkdir(dir, 0o700))
	var bundle []byte
	for _, a := range authorities {
		bundle = append(bundle, a.PEM...)
	}
	for file, data := range map[string][]byte{"tls.crt": p.Cert, "tls.key": p.Key, "ca.crt": bundle} {
		m.must(os.WriteFile(filepath.Join(dir, file), data, 0o600))
	}
	m.share(dir)
	next := filepath.Join(m.dir, "..next")
	m.must(os.Symlink(name, next))
	m.must(os.Rename(next, filepath.Join(m.dir, "..data")))
}

// share lets the group read a folder and its files.
func (m *Mount) share(dir string) {
	m.t.Helper()
	if m.group < 0 {
		return
	}
	for path, mode := range map[string]os.FileMode{"": 0o750, "tls.crt": 0o440, "tls.key": 0o440, "ca.crt": 0o440} {
		path = filepath.Join(dir, path)
		m.must(os.Chmod(path, mode))
		m.must(os.Chown(path, -1, m.group))
	}
}

func (m *Mount) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// Cert is the path of the certificate.
func (m *Mount) Cert() string { return filepath.Join(m.dir, "tls.crt") }

// Key is the path of the key.
func (m *Mount) Key() string { return filepath.Join(m.dir, "tls.key") }

// CA is the path of the authorities' certificates.
func (m *Mount) CA() string { return filepath.Join(m.dir, "ca.crt") }

// ClientTLS is the TLS configuration of a client that trusts the authorities and presents a pair,
// if one is given.
func ClientTLS(t testing.TB, p *Pair, authorities ...*Authority) *tls.Config {
	t.Helper()
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	for _, a := range authorities {
		c.RootCAs.AddCert(a.cert)
	}
	if p != nil {
		pair, err := tls.X509KeyPair(p.Cert, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}
