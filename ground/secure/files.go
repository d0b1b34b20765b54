package secure

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Files are the paths of certificates, in PEM.
type Files struct {
	// Cert and Key are this node's. ClientCert and ClientKey, if set, are the ones it shows when it
	// dials other nodes.
	Cert, Key, ClientCert, ClientKey string
	// CAFile and CADir hold the authorities that must have signed the certificates of others.
	CAFile, CADir string
}

const (
	// fileBytesMax and dirFilesMax bound the size of a file, and how many files of a folder are
	// read.
	fileBytesMax = 1 << 20
	dirFilesMax  = 1024
)

// These are the uses of a certificate.
const (
	UseNode      = "node"
	UseClient    = "node as a client"
	UseAuthority = "authority"
)

// Certificate is the public information about a certificate.
type Certificate struct {
	Use      string
	File     string
	Subject  string
	NotAfter time.Time
}

// material is the contents of the files at one moment.
type material struct {
	node, client *tls.Certificate
	pool         *x509.CertPool
	about        []Certificate
	digest       [sha256.Size]byte
}

// reading gathers material.
type reading struct {
	m    material
	hash hash.Hash
}

// read reads all files.
func (f Files) read() (*material, error) {
	r := &reading{hash: sha256.New()}
	var err error
	if r.m.node, err = r.pair(UseNode, f.Cert, f.Key); err != nil {
		return nil, err
	}
	r.m.client = r.m.node
	if f.ClientCert != "" || f.ClientKey != "" {
		if r.m.client, err = r.pair(UseClient, f.ClientCert, f.ClientKey); err != nil {
			return nil, err
		}
	}
	if err := r.authorities(f); err != nil {
		return nil, err
	}
	r.hash.Sum(r.m.digest[:0])
	return &r.m, nil
}

func (r *reading) file(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, fileBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(data) > fileBytesMax {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, fileBytesMax)
	}
	fmt.Fprintf(r.hash, "%s %d ", path, len(data))
	r.hash.Write(data)
	return data, nil
}

// pair reads a certificate and its key.
func (r *reading) pair(use, certPath, keyPath string) (*tls.Certificate, error) {
	if certPath == "" || keyPath == "" {
		return nil, fmt.Errorf("a certificate needs its key and a key its certificate (%s)", use)
	}
	certPEM, err := r.file(certPath)
	if err != nil {
		return nil, err
	}
	keyPEM, err := r.file(keyPath)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(keyPEM, []byte("ENCRYPTED")) {
		return nil, fmt.Errorf("%s is encrypted; keys with a passphrase are not read: write it out with `openssl pkey`, readable by this user alone", keyPath)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certPath, keyPath, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", certPath, err)
		}
	}
	r.tell(use, certPath, pair.Leaf)
	return &pair, nil
}

func (r *reading) tell(use, path string, c *x509.Certificate) {
	r.m.about = append(r.m.about, Certificate{use, path, c.Subject.String(), c.NotAfter})
}

// authorities reads the authorities of the file and of the folder.
func (r *reading) authorities(f Files) error {
	if f.CAFile == "" && f.CADir == "" {
		return nil
	}
	r.m.pool = x509.NewCertPool()
	found := 0
	if f.CAFile != "" {
		n, err := r.bundle(f.CAFile)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%s has no certificate in it", f.CAFile)
		}
		found += n
	}
	if f.CADir != "" {
		n, err := r.folder(f.CADir)
		if err != nil {
			return err
		}
		found += n
	}
	if found == 0 {
		return fmt.Errorf("there is no certificate in %s", f.CADir)
	}
	return nil
}

// folder reads the certificates of a folder. Other files in it do no harm.
func (r *reading) folder(dir string) (found int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	if len(entries) > dirFilesMax {
		return 0, fmt.Errorf("%s has more than %d files", dir, dirFilesMax)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		n, err := r.bundle(path)
		if err != nil {
			return 0, err
		}
		found += n
	}
	return found, nil
}

// bundle reads the certificates of a file.
func (r *reading) bundle(path string) (found int, err error) {
	rest, err := r.file(path)
	if err != nil {
		return 0, err
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return found, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		r.m.pool.AddCert(c)
		r.tell(UseAuthority, path, c)
		found++
	}
}

// ClientOptions are the TLS options of a program that is not a node and dials one.
type ClientOptions struct {
	// CAFile holds the authorities; if it is empty, the machine's are used. Cert and Key are the
	// certificate to show, if any.
	CAFile, Cert, Key string
	// ServerName is the name that the node's certificate must have; if it is empty, the dialled
	// host.
	ServerName string
	// Insecure accepts any certificate.
	Insecure bool
}

// ClientConfig returns the TLS configuration of a program that dials nodes.
func ClientConfig(o ClientOptions) (*tls.Config, error) {
	if o.Insecure && o.CAFile != "" {
		return nil, errors.New("to take any certificate and to name authorities contradict each other")
	}
	r := &reading{hash: sha256.New()}
	if err := r.authorities(Files{CAFile: o.CAFile}); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: r.m.pool, ServerName: o.ServerName, InsecureSkipVerify: o.Insecure}
	if o.Cert != "" || o.Key != "" {
		pair, err := r.pair("client", o.Cert, o.Key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{*pair}
	}
	return c, nil
}
