package adminport

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"lockstep/ground/caught"
	"lockstep/node/config"
	"lockstep/node/health"
	"lockstep/node/member"
	"lockstep/node/secrets"
	"lockstep/node/survey"
)

// starting is the port of a starting node whose first user has the password of the settings.
func starting(cfg *config.Config) *Server {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	m := &member.Member{Config: cfg}
	secrets, err := secrets.Open(secrets.Facts{Config: cfg, Log: log})
	if err != nil {
		panic(err)
	}
	return New(Facts{
		Config: cfg, Log: log, Panics: caught.New(log), NoPassword: secrets.NoPassword,
		Health: health.New(health.Facts{Member: m, Dying: func() error { return nil }}), Page: survey.New(survey.Facts{Member: m}).Page(),
		Metrics: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "starting", http.StatusServiceUnavailable) },
	})
}

// TestThePageIsForThisMachine: other machines get no page while protected-mode is on and there is
// no password. The probes answer every machine.
func TestThePageIsForThisMachine(t *testing.T) {
	for _, row := range []struct {
		args []string
		from string
		code int
	}{
		{nil, "127.0.0.1:9", 200}, {nil, "[::1]:9", 200}, {nil, "[::ffff:127.0.0.1]:9", 200}, {nil, "192.0.2.1:9", 403}, {nil, "somewhere", 403},
		{[]string{"--protected-mode", "no"}, "192.0.2.1:9", 200},
		{[]string{"--requirepass", "sesame"}, "192.0.2.1:9", 200},
	} {
		cfg, _, err := config.Load(append(row.args, "--dir", t.TempDir(), "--admin-pprof", "yes"), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := starting(cfg)
		for path, code := range map[string]int{"/debug/pprof/cmdline": row.code, "/livez": 200} {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
			r.RemoteAddr = row.from
			s.handler().ServeHTTP(w, r)
			if w.Code != code {
				t.Errorf("%v: %s from %s is %d, want %d", row.args, path, row.from, w.Code, code)
			}
		}
		if row.code != 403 {
			continue
		}
		for path, told := range map[string]bool{"/": false, "/ui/page.js": false, "/metrics": false, "/debug/pprof/": false, "/startupz": true} {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
			r.RemoteAddr = row.from
			s.handler().ServeHTTP(w, r)
			if (w.Code != 403) != told {
				t.Errorf("%s from %s is %d", path, row.from, w.Code)
			}
		}
	}
}

// TestAPanicOfTheAdminPortEndsItsConnectionAlone: the panic is counted, and the next request is
// answered.
func TestAPanicOfTheAdminPortEndsItsConnectionAlone(t *testing.T) {
	s := starting(config.Default())
	server := httptest.NewServer(s.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/breaks" {
			panic("broken by hand")
		}
		w.WriteHeader(http.StatusNoContent)
	})))
	defer server.Close()
	// Without keep-alives, because a client repeats a request that fails on a reused connection.
	one := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 3 {
		if got, err := one.Get(server.URL + "/breaks"); err == nil {
			t.Errorf("a request that panics was answered: %s", got.Status)
		}
		got, err := one.Get(server.URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusNoContent {
			t.Error(got.Status)
		}
	}
	if n := s.Panics.Count(); n != 3 {
		t.Errorf("%d panics are counted", n)
	}
}

// FuzzAdmin sends arbitrary requests to the admin port of a starting node. The port answers all of
// them, without a panic, and refuses every method but GET and HEAD.
func FuzzAdmin(f *testing.F) {
	for _, request := range []string{
		"GET /livez HTTP/1.1\r\nHost: n\r\n\r\n", "HEAD /readyz?verbose&leader HTTP/1.0\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost: n\r\nAccept-Encoding: gzip\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\n\r\nabc", "GET /ui/state HTTP/1.1\r\nHost: n\r\n\r\n", "GET /ui/series?recent=1 HTTP/1.1\r\nHost: n\r\n\r\n",
		"GET /debug/pprof/profile?seconds=0 HTTP/1.1\r\nHost: n\r\n\r\n", "GET /ui/../debug/pprof/cmdline HTTP/1.1\r\nHost: n\r\n\r\n", "DELETE /ui/page.js HTTP/1.1\r\nHost: n\r\nRange: bytes=-1\r\n\r\n",
		"GET /ui/page.js HTTP/1.1\r\nHost: n\r\nRange: bytes=0-1,5-9\r\nIf-None-Match: *\r\n\r\n",
	} {
		f.Add([]byte(request))
	}
	s := starting(config.Default())
	handler := s.guarded(impatient(s.handler()))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return // net/http refuses such a request itself
		}
		r.RemoteAddr = "127.0.0.1:1" // others are refused (protected-mode)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if c := s.Panics.Count(); c != 0 {
			t.Fatalf("%d panics", c)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && w.Code < 300 {
			t.Fatalf("%s %s: %d", r.Method, r.URL, w.Code)
		}
	})
}
