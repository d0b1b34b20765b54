package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAProbeTellsYesNoAndNobody(t *testing.T) {
	code := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "so it is", code) }))
	ask := func() (string, error) {
		var out strings.Builder
		cmd := newProbe(&options{timeout: 5 * time.Second, output: outputTable})
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
