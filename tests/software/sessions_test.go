package software

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/alexedwards/scs/goredisstore"
	"github.com/alexedwards/scs/v2"
	"github.com/redis/go-redis/v9"
)

// visits starts a web server that counts each visitor's visits. Two such servers with the same
// store share the counts.
func visits(t *testing.T, client *redis.Client) *httptest.Server {
	sessions := scs.New()
	sessions.Store = goredisstore.New(client)
	sessions.Lifetime = time.Minute
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		n := sessions.GetInt(r.Context(), "visits") + 1
		sessions.Put(r.Context(), "visits", n)
		_, _ = w.Write([]byte(strconv.Itoa(n)))
	})
	mux.HandleFunc("/login", func(_ http.ResponseWriter, r *http.Request) {
		if err := sessions.RenewToken(r.Context()); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/leave", func(_ http.ResponseWriter, r *http.Request) {
		if err := sessions.Destroy(r.Context()); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(sessions.LoadAndSave(mux))
	t.Cleanup(server.Close)
	return server
}

// scsSessions tests sessions of a Go web application, with the store of scs over go-redis.
func scsSessions(t *testing.T, addr string) {
	client := goRedis(t, addr)
	first, second := visits(t, client), visits(t, client)
	jar, err := cookiejar.New(nil)
	must(t, err)
	// Cookies of 127.0.0.1 are valid for every port, so both servers get them.
	browser := &http.Client{Jar: jar, Timeout: patience}
	want := func(server *httptest.Server, path, text string) {
		t.Helper()
		res, err := browser.Get(server.URL + path)
		must(t, err)
		defer res.Body.Close()
		got := make([]byte, 16)
		n, _ := res.Body.Read(got)
		if string(got[:n]) != text {
			t.Errorf("%s said %q, not %q", path, got[:n], text)
		}
	}
	want(first, "/", "1")
	want(second, "/", "2")
	want(first, "/login", "")
	want(second, "/", "3")
	ctx := deadline(t)
	keys, err := client.Keys(ctx, "scs:session:*").Result()
	must(t, err)
	if len(keys) != 1 {
		t.Fatalf("the sessions are %v, not one", keys)
	}
	if ttl := client.TTL(ctx, keys[0]).Val(); ttl <= 0 || ttl > time.Minute {
		t.Errorf("the session lives for %v", ttl)
	}
	want(second, "/leave", "")
	want(first, "/", "1")
}
