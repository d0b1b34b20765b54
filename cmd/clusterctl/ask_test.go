package main

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"
)

// Who looks for why nothing works is told how to look past an expired certificate,
// and past no other.
func TestAnExpiredCertificateKeepsNobodyOut(t *testing.T) {
	for reason, hinted := range map[x509.InvalidReason]bool{x509.Expired: true, x509.NotAuthorizedToSign: false} {
		err := explained(fmt.Errorf("tls: %w", x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: reason}))
		if strings.Contains(err.Error(), "--insecure") != hinted {
			t.Error(err)
		}
	}
}
