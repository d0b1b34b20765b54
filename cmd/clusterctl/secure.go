package main

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockstep/cluster/secure"
)

// secureFlags say whether and how nodes are spoken to under TLS.
type secureFlags struct {
	use     bool
	options secure.ClientOptions
	// config is nil where no TLS is spoken.
	config *tls.Config
}

func (s *secureFlags) flags(f *pflag.FlagSet) {
	f.BoolVar(&s.use, "tls", false, "speak TLS with the nodes; -a then names their tls-port")
	f.StringVar(&s.options.CAFile, "cacert", "", "file of the authorities that the nodes' certificates must be of (default: the machine's)")
	f.StringVar(&s.options.Cert, "cert", "", "file of the certificate to show to the nodes")
	f.StringVar(&s.options.Key, "key", "", "file of its key")
	f.StringVar(&s.options.ServerName, "sni", "", "name that the nodes' certificates must bear (default: the host that is dialled)")
	f.BoolVar(&s.options.Insecure, "insecure", false, "take any certificate: whoever is in between can read and change everything")
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
