package node

import (
	"context"
	"crypto/tls"
	"net"
	"strings"

	"lockstep/ground/secure"
	"lockstep/node/config"
)

// openTLS reads the certificates if any port uses TLS, and starts to reread them when they change.
func (n *Node) openTLS(context.Context) error {
	if !n.Config.Current().Secures() {
		return nil
	}
	k, err := secure.Open(func() secure.Options { return tlsOptions(n.Config.Current()) }, n.Log)
	if err != nil {
		return err
	}
	n.tls = k
	n.background.Go(func() { k.Run(n.ctx) })
	return nil
}

// CheckTLS checks that the certificates named by the settings can be used.
func CheckTLS(s *config.Settings) error {
	if !s.Secures() {
		return nil
	}
	return secure.Check(tlsOptions(s))
}

// targetTLS is the TLS configuration for a connection to a server outside this cluster (MIGRATE).
// As with Redis, the connection is plain unless the nodes speak TLS with each other.
func targetTLS(k *secure.Keeper, s *config.Settings, host string) *tls.Config {
	if k == nil || !s.SecuresPeers() {
		return nil
	}
	return k.DiallingOut(host)
}

func setsTLS(pairs []config.Pair) bool {
	for _, p := range pairs {
		if strings.HasPrefix(strings.ToLower(p.Name), "tls-") {
			return true
		}
	}
	return false
}

// tlsOptions are the TLS options from the settings.
func tlsOptions(s *config.Settings) secure.Options {
	o := secure.Options{
		Files: secure.Files{
			Cert: s.TLSCertFile, Key: s.TLSKeyFile, ClientCert: s.TLSClientCertFile, ClientKey: s.TLSClientKeyFile,
			CAFile: s.TLSCACertFile, CADir: s.TLSCACertDir,
		},
		Protocols: s.TLSProtocols, Ciphers: s.TLSCiphers, Tickets: s.TLSSessionCaching, PeerName: s.TLSPeerName,
	}
	if s.TLSPort != 0 {
		o.Clients = map[config.ClientAuth]tls.ClientAuthType{
			config.AuthYes: tls.RequireAndVerifyClientCert, config.AuthOptional: tls.VerifyClientCertIfGiven,
		}[s.TLSAuthClients]
	}
	if s.AdminPort != 0 && s.TLSAdmin == config.AdminMutual {
		o.Admin = tls.RequireAndVerifyClientCert
	}
	return o
}

// checkSet checks a CONFIG SET beyond the rules in the table of settings.
func (n *Node) checkSet(s *config.Settings, pairs []config.Pair) error {
	if n.tls != nil && setsTLS(pairs) {
		if err := secure.Check(tlsOptions(s)); err != nil {
			return err
		}
	}
	return n.secrets.CheckSet(s, pairs)
}

// afterSet rereads the certificates at once if CONFIG SET named a TLS setting, even with the same
// value.
func afterSet(k *secure.Keeper, pairs []config.Pair) {
	if k != nil && setsTLS(pairs) {
		_ = k.Reload() // checked before; an error since then is in the log
	}
}

// secureListener accepts connections under TLS. The goroutine that reads first does the handshake.
type secureListener struct {
	net.Listener
	config func() *tls.Config
}

// Accept implements net.Listener.
func (l secureListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tls.Server(conn, l.config()), nil
}

// secureAdmin returns the listener of the HTTP port, under TLS if the settings want that.
func secureAdmin(k *secure.Keeper, s *config.Settings, l net.Listener) net.Listener {
	if s.TLSAdmin == config.AdminPlain {
		return l
	}
	return secureListener{l, k.Admin}
}

// announcedTLSPort is the TLS port that is announced to clients, or 0 if there is none.
func announcedTLSPort(s *config.Settings) int {
	if s.TLSPort != 0 && s.ClusterAnnounceTLSPort != 0 {
		return s.ClusterAnnounceTLSPort
	}
	return s.TLSPort
}
