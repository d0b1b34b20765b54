// Package bench measures a cluster from outside: many connections read and write without a pause,
// each through one node, and bench records how long every call took. It counts errors by kind and
// omits none.
package bench

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/redis/go-redis/v9"
)

// Options say what to measure.
type Options struct {
	Addrs          []string
	User, Password string
	// TLS is the configuration for TLS with the nodes; nil is no TLS.
	TLS *tls.Config
	// Clients is the number of connections, spread over Addrs.
	Clients int
	Length  time.Duration
	// Keys is how many keys are used, ValueBytes how long a value is.
	Keys, ValueBytes int
	// ReadPart is the fraction of calls that read, 0 to 1.
	ReadPart float64
	// LogStores names the stores of the nodes' Raft logs, for the result.
	LogStores string
	// Prefix begins every key.
	Prefix string
	// Midway is called once in the middle, during the load, and returns what it did. It
	// may be nil.
	Midway func(context.Context) (string, error)
}

// Validate returns an error for options that make no sense.
func (o *Options) Validate() error {
	switch {
	case o.Clients < 1 || o.Clients > 10_000:
		return fmt.Errorf("--clients is 1 to 10000, not %d", o.Clients)
	case o.Length < 100*time.Millisecond:
		return fmt.Errorf("--for is 100ms or more, not %v", o.Length)
	case o.Keys < 1:
		return fmt.Errorf("--keys is 1 or more, not %d", o.Keys)
	case o.ValueBytes < 1 || o.ValueBytes > 64<<20:
		return fmt.Errorf("--value is 1 byte to 64 MB, not %d", o.ValueBytes)
	case o.ReadPart < 0 || o.ReadPart > 1:
		return fmt.Errorf("--reads is a part from 0 to 1, not %v", o.ReadPart)
	}
	return nil
}

// Result is the outcome of a run. Times are in milliseconds.
type Result struct {
	// LogStores are the stores of the nodes' Raft logs, separated by commas.
	LogStores string  `json:"log_stores"`
	Clients   int     `json:"clients"`
	Seconds   float64 `json:"seconds"`
	Calls     int64   `json:"calls"`
	PerSecond float64 `json:"calls_per_second"`
	Reads     Times   `json:"reads"`
	Writes    Times   `json:"writes"`
	// ErrorReplies are errors that a node returned, by their first word. Broken counts connections
	// that broke, for example those to a killed node.
	ErrorReplies map[string]int64 `json:"error_replies"`
	Broken       int64            `json:"broken_connections"`
	// LongestPauseMs is the longest time in which no call of any client succeeded.
	LongestPauseMs float64 `json:"longest_pause_ms"`
	// Midway is what was done in the middle.
	Midway string `json:"midway,omitempty"`
}

// Times are percentiles of one kind of call.
type Times struct {
	Calls int64   `json:"calls"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p999_ms"`
	Max   float64 `json:"max_ms"`
}

const (
	// slowestMs is the longest time that the histogram distinguishes.
	slowestMs = 120_000
	// callTimeout is longer than the server's own wait for a leader.
	callTimeout = 30 * time.Second
	// retryPause is how long a client that lost its node waits before it tries the next.
	retryPause = 20 * time.Millisecond
)

// load is one run.
type load struct {
	opt   Options
	value string
	began time.Time

	broken  atomic.Int64
	mu      sync.Mutex // guards what follows
	reads   *hdrhistogram.Histogram
	writes  *hdrhistogram.Histogram
	errors  map[string]int64
	lastOK  time.Time
	longest time.Duration
}

// Run measures until Length is over or ctx ends.
func Run(ctx context.Context, opt Options) (*Result, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	l := &load{
		opt: opt, value: strings.Repeat("x", opt.ValueBytes), errors: map[string]int64{},
		reads: hdrhistogram.New(1, slowestMs*1000, 3), writes: hdrhistogram.New(1, slowestMs*1000, 3),
	}
	ctx, cancel := context.WithTimeout(ctx, opt.Length)
	defer cancel()
	l.began = time.Now()
	l.lastOK = l.began
	var wait sync.WaitGroup
	for i := range opt.Clients {
		wait.Go(func() { l.client(ctx, i) })
	}
	midway, midwayErr := "", error(nil)
	if opt.Midway != nil {
		wait.Go(func() { midway, midwayErr = l.midway(ctx) })
	}
	wait.Wait()
	r := l.result()
	r.Midway = midway
	if midwayErr != nil {
		return r, fmt.Errorf("in the middle of the run: %w", midwayErr)
	}
	if r.Calls == 0 {
		return r, errors.New("not one call was answered")
	}
	return r, nil
}

func (l *load) midway(ctx context.Context) (string, error) {
	t := time.NewTimer(l.opt.Length / 2)
	defer t.Stop()
	select {
	case <-t.C:
		return l.opt.Midway(ctx)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// client makes calls without a pause, through one node as long as that node answers.
func (l *load) client(ctx context.Context, number int) {
	rnd := rand.New(rand.NewPCG(uint64(number), 1))
	var conn *redis.Client
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	for at := number; ctx.Err() == nil; {
		if conn == nil {
			conn = redis.NewClient(&redis.Options{
				Addr: l.opt.Addrs[at%len(l.opt.Addrs)], Username: l.opt.User, Password: l.opt.Password, MaxRetries: -1, PoolSize: 1, DialTimeout: time.Second,
				ReadTimeout: callTimeout, WriteTimeout: callTimeout, DisableIdentity: true, Protocol: 2, TLSConfig: l.opt.TLS,
			})
		}
		if l.call(ctx, conn, rnd) {
			continue
		}
		conn.Close()
		conn = nil
		at++
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// call makes one call. It returns false if the connection has broken.
func (l *load) call(ctx context.Context, conn *redis.Client, rnd *rand.Rand) bool {
	key := l.opt.Prefix + strconv.Itoa(rnd.IntN(l.opt.Keys))
	read := rnd.Float64() < l.opt.ReadPart
	began := time.Now()
	var err error
	if read {
		err = conn.Get(ctx, key).Err()
	} else {
		err = conn.Set(ctx, key, l.value, 0).Err()
	}
	took := time.Since(began)
	var reply redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil):
		l.ended(read, took)
	case ctx.Err() != nil:
	case errors.As(err, &reply):
		word, _, _ := strings.Cut(reply.Error(), " ")
		l.mu.Lock()
		l.errors[word]++
		l.mu.Unlock()
	default:
		l.broken.Add(1)
		return false
	}
	return true
}

// ended records a call that succeeded.
func (l *load) ended(read bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.writes
	if read {
		h = l.reads
	}
	_ = h.RecordValue(min(max(took.Microseconds(), 1), slowestMs*1000))
	now := time.Now()
	l.longest = max(l.longest, now.Sub(l.lastOK))
	l.lastOK = now
}

func (l *load) result() *Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	took := now.Sub(l.began).Seconds()
	// A pause may last until the end of the run.
	l.longest = max(l.longest, now.Sub(l.lastOK))
	calls := l.reads.TotalCount() + l.writes.TotalCount()
	return &Result{
		LogStores: l.opt.LogStores, Clients: l.opt.Clients, Seconds: took, Calls: calls, PerSecond: float64(calls) / took,
		Reads: timesOf(l.reads), Writes: timesOf(l.writes), ErrorReplies: l.errors, Broken: l.broken.Load(),
		LongestPauseMs: float64(l.longest.Microseconds()) / 1000,
	}
}

func timesOf(h *hdrhistogram.Histogram) Times {
	at := func(percentile float64) float64 { return float64(h.ValueAtPercentile(percentile)) / 1000 }
	return Times{Calls: h.TotalCount(), P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(h.Max()) / 1000}
}
