package config

import "lockstep/ground/secure"

// The rows of TLS. Only those that decide which ports speak TLS need a restart;
// the node reads the files again every few seconds.

var tlsDirectives = concat([]*Directive{
	{
		Name: "tls-port", Default: "0", Flags: Immutable,
		Doc:  "TCP port for clients under TLS. 0: none. With `port 0` it is the only port for clients.",
		kind: into(integer(0, maxPort), func(s *Settings) *int { return &s.TLSPort }),
	},
	{
		Name: "tls-cluster", Default: "no", Flags: Immutable,
		Doc:  "Speak mutual TLS with the other nodes. Set it alike on all nodes: a node with TLS and a node without cannot connect.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.TLSCluster }),
	},
	{
		Name: "tls-replication", Default: "no", Flags: Immutable,
		Doc:  "The same as tls-cluster, because replication and the cluster's bus are one port. If either says yes, the port speaks TLS.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.TLSReplication }),
	},
	{
		Name: "tls-admin", Default: string(AdminPlain), Flags: Immutable,
		Doc:  "Whether admin-port speaks HTTPS. `yes` asks for no certificate, because probes have none; `mutual` asks for one.",
		kind: into(oneOf(AdminPlain, AdminTLS, AdminMutual), func(s *Settings) *AdminSecurity { return &s.TLSAdmin }),
	},
	{
		Name: "tls-cert-file", Default: "",
		Doc:  "The node's certificate, in PEM, and behind it the certificates between it and its authority.",
		More: "CONFIG SET reads the files at once, even if the path stays the same. Set it together with tls-key-file if both change.",
		kind: into(text(), func(s *Settings) *string { return &s.TLSCertFile }),
	},
	{
		Name: "tls-key-file", Default: "",
		Doc:  "The key of tls-cert-file, in PEM, without a passphrase.",
		kind: into(text(), func(s *Settings) *string { return &s.TLSKeyFile }),
	},
	{
		Name: "tls-client-cert-file", Default: "",
		Doc:  "Certificate that the node shows when it dials other nodes. Empty: tls-cert-file. A certificate that is not also good for serving needs tls-peer-name.",
		kind: into(text(), func(s *Settings) *string { return &s.TLSClientCertFile }),
	},
	{
		Name: "tls-client-key-file", Default: "",
		Doc:  "The key of tls-client-cert-file.",
		kind: into(text(), func(s *Settings) *string { return &s.TLSClientKeyFile }),
	},
	{
		Name: "tls-ca-cert-file", Default: "",
		Doc:  "Authorities that must have signed the certificates of clients and of other nodes, in PEM. Give several while one replaces another.",
		kind: into(text(), func(s *Settings) *string { return &s.TLSCACertFile }),
	},
	{
		Name: "tls-ca-cert-dir", Default: "",
		Doc:  "Folder with files of more authorities. Every certificate in it counts, whatever the file's name.",
		kind: into(text(), func(s *Settings) *string { return &s.TLSCACertDir }),
	},
	{
		Name: "tls-auth-clients", Default: string(AuthYes),
		Doc:  "Whether clients on tls-port must show a certificate. `optional`: they may come without one, but one that they show must be good.",
		kind: into(oneOf(AuthNo, AuthYes, AuthOptional), func(s *Settings) *ClientAuth { return &s.TLSAuthClients }),
	},
	{
		Name: "tls-peer-name", Default: "",
		Doc:  "DNS name in the certificate of every node, checked in both directions.",
		More: "Empty: the certificate must have the host that was dialled, and a certificate that dials must also be good for serving. A client's certificate of the same authority is then no node's.",
		kind: into(checkedText("host name", checkHostname), func(s *Settings) *string { return &s.TLSPeerName }),
	},
	{
		Name: "tls-protocols", Default: "",
		Doc:  "Versions that are spoken, of TLSv1.2 and TLSv1.3. Empty: both.",
		kind: into(checkedText("TLSv1.2 TLSv1.3", checkProtocols), func(s *Settings) *string { return &s.TLSProtocols }),
	},
	{
		Name: "tls-ciphers", Default: "",
		Doc:  "Cipher suites of TLS 1.2, by OpenSSL's or IANA's names, separated by colons. Empty or DEFAULT: all that are secure. Their order has no meaning.",
		kind: into(checkedText("suites", checkCiphers), func(s *Settings) *string { return &s.TLSCiphers }),
	},
	{
		Name: "tls-session-caching", Default: "yes",
		Doc:  "Let clients resume sessions, by tickets. Clients that show certificates never can. A change of certificates ends all sessions.",
		kind: into(yesNo(), func(s *Settings) *bool { return &s.TLSSessionCaching }),
	},
}, tlsIgnored())

// tlsIgnored are the rows for which crypto/tls has no setting.
func tlsIgnored() []*Directive {
	return concat(
		because("the suites of TLS 1.3 cannot be chosen; all of them are secure", ignored("tls-ciphersuites", "", free())),
		because("TLS chooses the suite that is secure, and fast on both machines", ignored("tls-prefer-server-ciphers", "no", onOff())),
		because("Lockstep exchanges keys over elliptic curves alone", ignored("tls-dh-params-file", "", free())),
		because("clients keep their sessions in tickets, for a day at most",
			ignored("tls-session-cache-size", "20480", count()), ignored("tls-session-cache-timeout", "300", count())),
	)
}

func checkProtocols(a string) error {
	_, _, err := secure.Protocols(a)
	return err
}

func checkCiphers(a string) error {
	_, err := secure.Ciphers(a)
	return err
}

// SecuresPeers reports whether the peer port speaks TLS.
func (s *Settings) SecuresPeers() bool { return s.TLSCluster || s.TLSReplication }

// Secures reports whether any port speaks TLS.
func (s *Settings) Secures() bool {
	return s.TLSPort != 0 || s.SecuresPeers() || s.AdminPort != 0 && s.TLSAdmin != AdminPlain
}

// MainPort is the first port for clients: port, or tls-port if port is 0.
func (s *Settings) MainPort() int {
	if s.Port == 0 {
		return s.TLSPort
	}
	return s.Port
}

// tlsConflicts lists settings of TLS that contradict each other.
func tlsConflicts(s *Settings, say func(wrong bool, format string, args ...any)) {
	say(s.Port == 0 && s.TLSPort == 0, "port and tls-port are both 0: there would be no port for clients")
	say(s.TLSPort != 0 && (s.TLSPort == s.Port || s.TLSPort == s.PeerPort || s.TLSPort == s.AdminPort), "tls-port %d is also the port for clients, peers or admin", s.TLSPort)
	say(s.Secures() && (s.TLSCertFile == "" || s.TLSKeyFile == ""), "TLS needs tls-cert-file and tls-key-file")
	say((s.TLSClientCertFile == "") != (s.TLSClientKeyFile == ""), "only one of tls-client-cert-file and tls-client-key-file is given: give both")
	verifies := s.SecuresPeers() || s.TLSPort != 0 && s.TLSAuthClients != AuthNo || s.AdminPort != 0 && s.TLSAdmin == AdminMutual
	say(verifies && s.TLSCACertFile == "" && s.TLSCACertDir == "",
		"Either tls-ca-cert-file or tls-ca-cert-dir must be specified when tls-cluster, tls-replication or tls-auth-clients are enabled!")
}
