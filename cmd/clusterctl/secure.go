package main

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockstep/ground/secure"
)

// secureFlags are the flags for TLS with the nodes.
type secureFlags struct {
	use     bool
	options secure.ClientOptions
	// config is nil for a connection without TLS.
	config *tls.Config
}

func (s *secureFlags) flags(f *pflag.FlagSet) {
	f.BoolVar(&s.use, "tls", false, "speak TLS with the nodes; -a then names their tls-port")
	f.StringVar(&s.options.CAFile, "cacert", "", "file of the authorities that must have signed the nodes' certificates (default: those of this machine)")
	f.StringVar(&s.options.Cert, "cert", "", "file of the certificate to show to the nodes")
	f.StringVar(&s.options.Key, "key", "", "file of the key of --cert")
	f.StringVar(&s.options.ServerName, "sni", "", "name that the nodes' certificates must have (default: the host that is dialled)")
	f.BoolVar(&s.options.Insecure, "insecure", false, "accept any certificate: anyone between you and the node can then read and change everything")
}

// open reads the files.
func (s *secureFlags) open(cmd *cobra.Command) error {
	if !s.use {
		if s.options != (secure.ClientOptions{}) {
			return errors.New("--cacert, --cert, --key, --sni and --insecure are for --tls, which is not given")
		}
		return nil
	}
	var err error
	if s.config, err = secure.ClientConfig(s.options); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	if s.options.Insecure {
		fmt.Fprintln(stderr(cmd), "warning: --insecure: the nodes' certificates are not checked")
	}
	return nil
}
