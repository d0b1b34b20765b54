package node

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lockstep/cluster/caught"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/node/ops"
)

func ask(n *Node, target string) (code int, text string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", target, nil)
	r.RemoteAddr = "127.0.0.1:1234"
	n.adminHandler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestNodeThatStartsIsAliveAndNotReady(t *testing.T) {
	n := &Node{Member: &member.Member{}, cfg: config.Default()}
	n.readiness.init(n)
	for target, want := range map[string]int{
		"/livez": 200, "/startupz": 503, "/readyz": 503, "/readyz?noleader": 503, "/readyz?leader": 503, "/readyz?stale": 503, "/metrics": 503, "/nothing": 404,
	} {
		if code, text := ask(n, target); code != want {
			t.Errorf("%s is %d (%s), want %d", target, code, text, want)
		}
	}
	if _, text := ask(n, "/readyz?verbose"); text != "[-] started: is starting\n" {
		t.Errorf("verbose is %q", text)
	}
}

func TestLivenessEndsWithTheDisk(t *testing.T) {
	n := &Node{Member: &member.Member{}, fatal: make(chan error, 1)}
	n.die(ops.ErrShutdown)
	if code, _ := ask(n, "/livez"); code != 200 {
		t.Error("a node that was told to stop is not alive")
	}
	n.die(errors.New("disk: sync has taken more than 5s"))
	if code, text := ask(n, "/livez"); code != 503 || !strings.Contains(text, "disk: sync") {
		t.Errorf("%d %s", code, text)
	}
}

// A minute of one batch is stuck, and says where.
func TestABatchWithoutAnEndIsStuck(t *testing.T) {
	for applying, want := range map[time.Duration]string{0: "", time.Minute: "", time.Minute + time.Second: "shard 3 has been applying entries for 1m1s"} {
		got := ""
		if err := tooLong("shard 3", applying); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("after %v: %q", applying, got)
		}
	}
}

// What the time says of a shard without a leader.
func TestGraceIsFromTheLastLeaderOn(t *testing.T) {
	began := time.Now()
	r := &readiness{led: []time.Time{began, began.Add(-time.Minute)}}
	if err := r.within([]int{0}, 15*time.Second, began.Add(14*time.Second)); err != nil {
		t.Errorf("within the grace: %v", err)
	}
	if err := r.within([]int{0}, 15*time.Second, began.Add(15*time.Second)); err == nil {
		t.Error("after the grace there is no error")
	}
	if err := r.within([]int{0, 1}, 15*time.Second, began); err == nil || !strings.Contains(err.Error(), "shard 1 has had no leader for 1m0s") {
		t.Errorf("the second shard: %v", err)
	}
	if err := r.within(nil, 0, began); err != nil {
		t.Errorf("all are led: %v", err)
	}
}

// TestAPanicOfTheAdminPortEndsItsConnectionAlone: it is counted, and the next request is
// answered.
func TestAPanicOfTheAdminPortEndsItsConnectionAlone(t *testing.T) {
	n := &Node{Member: &member.Member{}}
	n.panics.Admin = caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	server := httptest.NewServer(n.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/breaks" {
			panic("broken by hand")
		}
		w.WriteHeader(http.StatusNoContent)
	})))
	defer server.Close()
	// On a connection that was used before, a request that was lost is made again.
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
	if n := n.panics.Admin.Count(); n != 3 {
		t.Errorf("%d panics are counted", n)
	}
}
