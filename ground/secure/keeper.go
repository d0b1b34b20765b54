package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the TLS settings of a node.
type Options struct {
	Files
	// Clients and Admin are the demands on certificates at the port for clients and at the
	// HTTP port.
	Clients, Admin tls.ClientAuthType
	// Protocols and Ciphers are lists in the form of redis.conf.
	Protocols, Ciphers string
	// Tickets is true if clients may resume sessions. Clients that showed a certificate never
	// can.
	Tickets bool
	// PeerName is the name in every node's certificate, checked in both directions. If it is
	// empty, the certificate must have the dialled host, and a certificate that dials must
	// also be good for serving, because clients of the same authority are not nodes.
	PeerName string
}

// pollEvery is how often files are read.
const pollEvery = 2 * time.Second

// Keeper has the TLS configurations of a node, according to its current files and settings.
type Keeper struct {
	options func() Options
	log     *slog.Logger
	now     atomic.Pointer[generation]
	reloads atomic.Int64

	mu sync.Mutex // guards problem; held while the files are read
	// problem is why the files could not be used at the last reading; it is empty if they could.
	problem string
}

// generation is the result of one reading of the files.
type generation struct {
	options              Options
	material             *material
	front, admin, accept *tls.Config
	dial                 *tls.Config
}

// Check returns the error with which a node would fail to start with these options.
func Check(o Options) error {
	_, err := generate(o)
	return err
}

// Open reads the files. It calls options at each reading.
func Open(options func() Options, log *slog.Logger) (*Keeper, error) {
	g, err := generate(options())
	if err != nil {
		return nil, err
	}
	k := &Keeper{options: options, log: log}
	k.now.Store(g)
	k.warnOfExpired(g)
	return k, nil
}

func generate(o Options) (*generation, error) {
	m, err := o.read()
	if err != nil {
		return nil, err
	}
	oldest, newest, err := Protocols(o.Protocols)
	if err != nil {
		return nil, err
	}
	ciphers, err := Ciphers(o.Ciphers)
	if err != nil {
		return nil, err
	}
	base := &tls.Config{
		MinVersion: oldest, MaxVersion: newest, CipherSuites: ciphers, Certificates: []tls.Certificate{*m.node},
		// Use full-sized records, so that a pipeline's replies need few of them.
		DynamicRecordSizingDisabled: true,
	}
	g := &generation{options: o, material: m}
	g.front, err = serving(base, m, o.Clients, o.Tickets)
	if err != nil {
		return nil, err
	}
	if g.admin, err = serving(base, m, o.Admin, o.Tickets); err != nil {
		return nil, err
	}
	g.admin.NextProtos = []string{"http/1.1"}
	g.accept = base.Clone()
	g.accept.ClientAuth, g.accept.ClientCAs, g.accept.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, poolOf(m), true
	g.accept.VerifyConnection = func(s tls.ConnectionState) error { return isNode(s, m.pool, o.PeerName) }
	g.dial = base.Clone()
	g.dial.Certificates, g.dial.RootCAs = []tls.Certificate{*m.client}, poolOf(m)
	return g, nil
}

// serving is the configuration for a port for clients.
func serving(base *tls.Config, m *material, auth tls.ClientAuthType, tickets bool) (*tls.Config, error) {
	c := base.Clone()
	c.ClientAuth, c.ClientCAs = auth, poolOf(m)
	if auth != tls.NoClientCert && m.pool == nil {
		return nil, errors.New("certificates of clients are asked for, and no authority is named that they could be of")
	}
	c.SessionTicketsDisabled = !tickets || auth != tls.NoClientCert
	return c, nil
}

// poolOf never returns nil, because nil would mean the authorities of the machine.
func poolOf(m *material) *x509.CertPool {
	if m.pool == nil {
		return x509.NewCertPool()
	}
	return m.pool
}

// isNode checks the certificate of a peer that has dialled the peer port.
func isNode(s tls.ConnectionState, authorities *x509.CertPool, name string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	leaf := s.PeerCertificates[0]
	if name != "" {
		return leaf.VerifyHostname(name)
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return fmt.Errorf("not the certificate of a node: %w", err)
	}
	return nil
}

// Front is for the port for clients.
func (k *Keeper) Front() *tls.Config { return k.now.Load().front }

// Admin is for the HTTP port.
func (k *Keeper) Admin() *tls.Config { return k.now.Load().admin }

// Accepting is for the port for peers.
func (k *Keeper) Accepting() *tls.Config { return k.now.Load().accept }

// Dialling is for a connection to another node.
func (k *Keeper) Dialling(host string) *tls.Config {
	g := k.now.Load()
	if g.options.PeerName != "" {
		host = g.options.PeerName
	}
	return g.dialling(host)
}

// DiallingOut is for a connection to a server that is not a node of the cluster, and does not
// have the nodes' name.
func (k *Keeper) DiallingOut(host string) *tls.Config { return k.now.Load().dialling(host) }

// dialling is the configuration for a connection to a peer whose certificate has name.
func (g *generation) dialling(name string) *tls.Config {
	c := g.dial.Clone()
	c.ServerName = name
	return c
}

// Reload reads the files now. After an error the earlier ones stay in force.
func (k *Keeper) Reload() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.now.Load()
	g, err := generate(k.options())
	if err == nil {
		err = last.betterThan(g, time.Now())
	}
	if err != nil {
		if text := err.Error(); text != k.problem {
			k.problem = text
			k.log.Error("the certificates cannot be used as they are now; those from before stay in force", "reason", err)
		}
		return err
	}
	k.problem = ""
	if g.options == last.options && g.material.digest == last.material.digest {
		return nil
	}
	k.now.Store(g)
	k.reloads.Add(1)
	k.log.Info("certificates were read again", "subject", g.material.node.Leaf.Subject.String(), "not_after", g.material.node.Leaf.NotAfter)
	k.warnOfExpired(g)
	return nil
}

// betterThan returns the reason why g, which is in force, must not give way to next,
// although the files of next are whole. Peers would refuse a certificate outside its
// time, or without the name of the nodes. A node that all others refuse does more harm
// than an old certificate that is still good.
func (g *generation) betterThan(next *generation, now time.Time) error {
	if g.material.digest == next.material.digest {
		return nil
	}
	for _, c := range []struct {
		file      string
		has, next *x509.Certificate
	}{
		{next.options.Cert, g.material.node.Leaf, next.material.node.Leaf}, {next.options.ClientCert, g.material.client.Leaf, next.material.client.Leaf},
	} {
		if good(c.has, now) && !good(c.next, now) {
			return fmt.Errorf("%s is good from %v to %v, and the certificate in force is good now", c.file, c.next.NotBefore, c.next.NotAfter)
		}
		if name := next.options.PeerName; name != "" && c.has.VerifyHostname(name) == nil {
			if err := c.next.VerifyHostname(name); err != nil {
				return fmt.Errorf("%s has not the name that nodes bear: %w", c.file, err)
			}
		}
	}
	return nil
}

// good reports whether a certificate is within its time.
func good(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && !now.After(c.NotAfter)
}

func (k *Keeper) warnOfExpired(g *generation) {
	for _, c := range g.material.about {
		if time.Now().After(c.NotAfter) {
			k.log.Warn("a certificate has expired", "use", c.Use, "file", c.File, "subject", c.Subject, "not_after", c.NotAfter)
		}
	}
}

// Run reads the files again and again until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = k.Reload() // it has logged the error
		}
	}
}

// Report is the public information about a node's certificates.
type Report struct {
	Certificates []Certificate
	// Problem is why the current files are not in force; it is empty if they are.
	Problem string
	// Reloads counts the changes since the start.
	Reloads int64
}

// Report returns the certificates that are in force.
func (k *Keeper) Report() Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Report{k.now.Load().material.about, k.problem, k.reloads.Load()}
}

// FirstAuthority returns when the first of the authorities expires, or false if there is none.
func (r *Report) FirstAuthority() (first time.Time, any bool) {
	for _, c := range r.Certificates {
		if c.Use == UseAuthority && (!any || c.NotAfter.Before(first)) {
			first, any = c.NotAfter, true
		}
	}
	return first, any
}
