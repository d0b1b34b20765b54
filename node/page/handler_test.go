package page

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a Source that counts how often it is asked.
type fake struct {
	starting      bool
	states, asked atomic.Int32
	seconds       atomic.Int32
	// gate, if there is one, blocks State.
	gate chan struct{}
}

func (f *fake) Ready() bool { return !f.starting }

func (f *fake) State(context.Context) *State {
	f.states.Add(1)
	if f.gate != nil {
		<-f.gate
	}
	return &State{Seen: "<b>n1</b>"}
}

func (f *fake) Series(_ context.Context, seconds int) []NodeSeries {
	f.asked.Add(1)
	f.seconds.Store(int32(seconds))
	return []NodeSeries{{ID: "1", Name: "n1", Series: (&History{}).Last(1)}, {ID: "2", Name: "n2"}}
}

func ask(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

// everything is the list of all paths that are served, with their types.
var everything = map[string]string{
	"/": "text/html; charset=utf-8", "/ui/page.css": "text/css; charset=utf-8", "/ui/page.js": "text/javascript; charset=utf-8",
	"/ui/sections.js": "text/javascript; charset=utf-8", "/ui/chart.js": "text/javascript; charset=utf-8", "/ui/dom.js": "text/javascript; charset=utf-8",
	"/ui/words.js": "text/javascript; charset=utf-8", "/ui/icon.svg": "image/svg+xml", "/ui/state": "application/json", "/ui/series": "application/json",
}

func TestEveryAnswerIsOfItsKindAndGuarded(t *testing.T) {
	h := NewHandler(&fake{})
	for path, kind := range everything {
		w := ask(h, "GET", path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
		csp := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") ||
			w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %v", path, w.Header())
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			if w := ask(h, method, path); w.Code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s is %d", method, path, w.Code)
			}
		}
		if w := ask(h, "HEAD", path); w.Code != http.StatusOK {
			t.Errorf("HEAD %s is %d", path, w.Code)
		}
	}
	for _, path := range []string{"/ui/", "/ui/nothing", "/ui/../page.go", "/ui/index.html", "/nothing"} {
		if w := ask(h, "GET", path); w.Code == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}

// The page loads nothing from elsewhere and has nothing inline that the policy
// forbids.
func TestPageNeedsNothingFromElsewhere(t *testing.T) {
	h := NewHandler(&fake{})
	for path := range everything {
		text := strings.ReplaceAll(ask(h, "GET", path).Body.String(), "http://www.w3.org/", "")
		for _, bad := range []string{"http://", "https://", "<style", " style=", "onclick", "onload", "javascript:", "innerHTML", "eval(", "@import"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
}

func TestBrowserAsksWhetherAnAssetIsStillTheSame(t *testing.T) {
	h := NewHandler(&fake{})
	first := ask(h, "GET", "/ui/page.js")
	r := httptest.NewRequest("GET", "/ui/page.js", nil)
	r.Header.Set("If-None-Match", first.Header().Get("ETag"))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
}

func TestNodeThatStartsSaysSo(t *testing.T) {
	f := &fake{starting: true}
	h := NewHandler(f)
	for _, path := range []string{"/ui/state", "/ui/series"} {
		if w := ask(h, "GET", path); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "starting") || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(h, "GET", "/"); w.Code != http.StatusOK {
		t.Errorf("the page itself is %d", w.Code)
	}
	if f.states.Load()+f.asked.Load() != 0 {
		t.Error("a node that starts was asked")
	}
}

func TestSeriesAreWholeOrRecent(t *testing.T) {
	f := &fake{}
	h := NewHandler(f)
	for target, want := range map[string]int32{"/ui/series": Seconds, "/ui/series?recent": recentSeconds} {
		w := ask(h, "GET", target)
		var all []NodeSeries
		if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil || len(all) != 2 || all[0].Series == nil || all[1].Series != nil {
			t.Errorf("%s: %v %s", target, err, w.Body)
		}
		if f.seconds.Load() != want {
			t.Errorf("%s asked for %d seconds", target, f.seconds.Load())
		}
	}
}

// However many visitors look at the same time, the nodes are asked once. A visitor beyond the limit
// is refused.
func TestManyWhoLookAskOnce(t *testing.T) {
	f := &fake{gate: make(chan struct{})}
	h := NewHandler(f)
	h.state.keep = time.Hour
	codes := make(chan int, requestsMax)
	var wait sync.WaitGroup
	for range requestsMax {
		wait.Go(func() { codes <- ask(h, "GET", "/ui/state").Code })
	}
	for late := time.Now().Add(time.Minute); len(h.open) < requestsMax; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("%d requests are under way", len(h.open))
		}
	}
	if w := ask(h, "GET", "/ui/state"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one too many is answered with %d", w.Code)
	}
	close(f.gate)
	wait.Wait()
	close(codes)
	for code := range codes {
		if code != http.StatusOK {
			t.Errorf("%d", code)
		}
	}
	if n := f.states.Load(); n != 1 {
		t.Errorf("the nodes were asked %d times", n)
	}
	if len(h.open) != 0 {
		t.Errorf("%d are still under way", len(h.open))
	}
}
