package main

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAProbeTellsYesNoAndNobody(t *testing.T) {
	code := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "so it is", code) }))
	ask := func() (string, error) {
		var out strings.Builder
		cmd := newProbe(&options{timeout: time.Minute, output: outputTable})
		cmd.SetArgs([]string{s.URL})
		cmd.SetOut(&out)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		return out.String(), err
	}
	if text, err := ask(); err != nil || text != "so it is\n" {
		t.Fatal(text, err)
	}
	code = http.StatusServiceUnavailable
	if text, err := ask(); end(err) != exitDegraded || text != "so it is\n" {
		t.Fatal(text, err)
	}
	s.Close()
	if _, err := ask(); !errors.Is(err, errNoAnswer) {
		t.Fatal(err)
	}
}

// A port that speaks HTTPS is checked with the authority that --cacert names.
func TestAProbeSpeaksTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags []string
		code  int
	}{{nil, exitNoQuorum}, {[]string{"--tls", "--cacert", ca}, 0}} {
		cmd := newRoot()
		cmd.SetArgs(append([]string{"probe", s.URL}, c.flags...))
		cmd.SetOut(io.Discard)
		if err := cmd.Execute(); end(err) != c.code {
			t.Errorf("%v: %v", c.flags, err)
		}
	}
}
