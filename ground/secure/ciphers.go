package secure

import (
	"crypto/tls"
	"fmt"
	"strings"
)

// opensslNames are the OpenSSL names of the selectable cipher suites of TLS 1.2. The IANA names are
// those of crypto/tls.
var opensslNames = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Ciphers reads a list in the form of tls-ciphers: suites by their OpenSSL or IANA names, separated
// by colons. DEFAULT and HIGH alone stand for all suites that this program supports. An exclusion
// ("!MEDIUM") must name suites that this program does not support. An empty result means that
// nothing was chosen.
func Ciphers(text string) ([]uint16, error) {
	var chosen []uint16
	all := false
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == ',' || r == ' ' }) {
		switch id, known := suite(word); {
		case known:
			chosen = append(chosen, id)
		case word == "DEFAULT" || word == "HIGH":
			all = true
		case strings.HasPrefix(word, "!") && neverSpoken[word[1:]]:
		default:
			return nil, fmt.Errorf("%q is no cipher suite of TLS 1.2 that can be chosen", word)
		}
	}
	if all {
		return nil, nil
	}
	return chosen, nil
}

// neverSpoken are groups of suites that this program does not support.
var neverSpoken = map[string]bool{
	"MEDIUM": true, "LOW": true, "EXPORT": true, "EXP": true, "aNULL": true, "eNULL": true, "NULL": true, "ADH": true, "AECDH": true,
	"DES": true, "3DES": true, "RC4": true, "RC2": true, "IDEA": true, "SEED": true, "MD5": true, "PSK": true, "SRP": true, "DSS": true, "aDSS": true, "CAMELLIA": true, "ARIA": true,
	"SSLv2": true, "SSLv3": true, "kRSA": true, "CBC": true,
}

func suite(name string) (uint16, bool) {
	if id, ok := opensslNames[name]; ok {
		return id, true
	}
	for _, id := range opensslNames {
		if tls.CipherSuiteName(id) == name {
			return id, true
		}
	}
	return 0, false
}

// Protocols reads a list in the form of tls-protocols. An empty list means both versions.
func Protocols(text string) (oldest, newest uint16, err error) {
	oldest, newest = tls.VersionTLS13, tls.VersionTLS12
	for _, word := range strings.Fields(text) {
		switch strings.ToLower(word) {
		case "tlsv1.2":
			oldest = tls.VersionTLS12
		case "tlsv1.3":
			newest = tls.VersionTLS13
		case "tlsv1", "tlsv1.1":
			return 0, 0, fmt.Errorf("%s is not secure and not spoken; TLSv1.2 and TLSv1.3 are", word)
		default:
			return 0, 0, fmt.Errorf("%q is neither TLSv1.2 nor TLSv1.3", word)
		}
	}
	if len(strings.Fields(text)) == 0 {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	return oldest, newest, nil
}
