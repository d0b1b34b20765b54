package page

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Source is the cluster behind the page.
type Source interface {
	// Ready reports whether the node has started.
	Ready() bool
	// State asks all nodes for their state.
	State(ctx context.Context) *State
	// Series asks all nodes for their samples of the last seconds.
	Series(ctx context.Context, seconds int) []NodeSeries
}

// NodeSeries holds the samples of one node. Series is nil if the node did not answer.
type NodeSeries struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Series *Series `json:"series"`
}

const (
	// collectWait bounds how long a request waits for the nodes.
	collectWait = 3 * time.Second
	// writeWait bounds how long a browser may take for an answer.
	writeWait = 30 * time.Second
	// fresh is how long collected data is served again.
	fresh = time.Second
	// requestsMax bounds the requests under way that need collected data.
	requestsMax = 64
	// recentSeconds is how much a page asks for that has the older samples already.
	recentSeconds = 30
)

// headers are sent with every answer: load nothing from other servers, nothing inline, no frames,
// no guessing of types.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

//go:embed assets
var assets embed.FS

// contentTypes are the types of the assets, by the ends of their names.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// Handler serves the page at / and its parts under /ui/.
type Handler struct {
	source Source
	mux    *http.ServeMux
	state  hold
	// whole holds all samples, recent those of the last recentSeconds.
	whole, recent hold
	// open has a token for each request under way.
	open chan struct{}
}

// NewHandler returns a handler that shows a source.
func NewHandler(source Source) *Handler {
	h := &Handler{
		source: source, mux: http.NewServeMux(), open: make(chan struct{}, requestsMax),
		state: hold{keep: fresh}, whole: hold{keep: fresh}, recent: hold{keep: fresh},
	}
	h.mux.HandleFunc("GET /{$}", asset("index.html"))
	for _, name := range []string{"page.css", "page.js", "sections.js", "chart.js", "dom.js", "words.js", "icon.svg"} {
		h.mux.HandleFunc("GET /ui/"+name, asset(name))
	}
	h.mux.HandleFunc("GET /ui/state", h.serve(func(*http.Request) ([]byte, error) {
		return h.state.get(func(ctx context.Context) any { return source.State(ctx) })
	}))
	h.mux.HandleFunc("GET /ui/series", h.serve(func(r *http.Request) ([]byte, error) {
		if r.URL.Query().Has("recent") {
			return h.recent.get(func(ctx context.Context) any { return source.Series(ctx, recentSeconds) })
		}
		return h.whole.get(func(ctx context.Context) any { return source.Series(ctx, Seconds) })
	}))
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	answer := http.NewResponseController(w)
	_ = answer.SetWriteDeadline(time.Now().Add(writeWait))
	h.mux.ServeHTTP(w, r)
	// The connection may next be used for something else.
	_ = answer.Flush()
	_ = answer.SetWriteDeadline(time.Time{})
}

// asset serves a file that is embedded in the program. A browser keeps the file, and asks whether
// it is unchanged.
func asset(name string) http.HandlerFunc {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(data)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, strings.NewReader(string(data)))
	}
}

// serve answers with collected data in JSON.
func (h *Handler) serve(collect func(*http.Request) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if !h.source.Ready() {
			refuse(w, "this node is starting")
			return
		}
		select {
		case h.open <- struct{}{}:
			defer func() { <-h.open }()
		default:
			refuse(w, "too many look at this node's page")
			return
		}
		data, err := collect(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data)
	}
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "2")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// hold keeps collected data for a moment, so that many simultaneous visitors cause one request to
// the nodes.
type hold struct {
	// mu is held while a request collects data, for at most collectWait. It guards made, data.
	mu sync.Mutex
	// keep is how long the data is served again.
	keep time.Duration
	made time.Time
	data []byte
}

// get returns the collected data as JSON; it is at most keep old.
func (h *hold) get(collect func(context.Context) any) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.data != nil && time.Since(h.made) < h.keep {
		return h.data, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectWait)
	defer cancel()
	data, err := json.Marshal(collect(ctx))
	if err != nil {
		return nil, err
	}
	h.data, h.made = data, time.Now()
	return data, nil
}
