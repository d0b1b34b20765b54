package main

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
)

// An operator who looks for a problem learns how to connect despite an expired certificate, and
// despite no other one.
func TestAnExpiredCertificateKeepsNobodyOut(t *testing.T) {
	for reason, hinted := range map[x509.InvalidReason]bool{x509.Expired: true, x509.NotAuthorizedToSign: false} {
		err := explained(fmt.Errorf("tls: %w", x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: reason}))
		if strings.Contains(err.Error(), "--insecure") != hinted {
			t.Error(err)
		}
	}
}
