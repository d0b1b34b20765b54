package health

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lockstep/node/member"
)

func ask(h *Health, target string) (code int, text string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", target, nil)
	switch r.URL.Path {
	case "/livez":
		h.ServeLive(w, r)
	case "/startupz":
		h.ServeStartup(w, r)
	default:
		h.ServeReady(w, r)
	}
	return w.Code, w.Body.String()
}

// starting is a node that has just started to start.
func starting() *Health {
	return New(Facts{Member: &member.Member{}, Dying: func() error { return nil }})
}

func TestNodeThatStartsIsAliveAndNotReady(t *testing.T) {
	h := starting()
	for target, want := range map[string]int{
		"/livez": 200, "/startupz": 503, "/readyz": 503, "/readyz?noleader": 503, "/readyz?leader": 503, "/readyz?stale": 503,
	} {
		if code, text := ask(h, target); code != want {
			t.Errorf("%s is %d (%s), want %d", target, code, text, want)
		}
	}
	if _, text := ask(h, "/readyz?verbose"); text != "[-] started: is starting\n" {
		t.Errorf("verbose is %q", text)
	}
}

func TestLivenessEndsWithTheDisk(t *testing.T) {
	h := starting()
	if code, _ := ask(h, "/livez"); code != 200 {
		t.Error("a node whose disk is well is not alive")
	}
	h.Dying = func() error { return errors.New("disk: sync has taken more than 5s") }
	if code, text := ask(h, "/livez"); code != 503 || !strings.Contains(text, "disk: sync") {
		t.Errorf("%d %s", code, text)
	}
}

// A node that applies one batch for more than a minute is stuck, and the error names the shard.
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

// The error depends on how long the shard has been without a leader.
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
