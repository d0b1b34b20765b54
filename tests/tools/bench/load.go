package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// redisBenchmark runs redis-benchmark and returns requests per second and the
// median latency in milliseconds.
func redisBenchmark(s *server, test string, n, clients, pipeline, size int) (rps, p50 float64, err error) {
	return redisBenchmarkOf(s, n, clients, pipeline, "-d", strconv.Itoa(size), "-t", test)
}

// redisBenchmarkOf is the same for any load: what holds its options, or a command in which
// __rand_int__ is one of 100,000 numbers.
func redisBenchmarkOf(s *server, n, clients, pipeline int, what ...string) (rps, p50 float64, err error) {
	args := []string{"-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "--csv", "-r", "100000",
		"-n", strconv.Itoa(n), "-c", strconv.Itoa(clients), "-P", strconv.Itoa(pipeline)}
	out, err := exec.Command("redis-benchmark", append(args, what...)...).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	return parseBenchmarkCSV(string(out))
}

func parseBenchmarkCSV(text string) (rps, p50 float64, err error) {
	// Warnings may come before the table.
	if i := strings.Index(text, "\"test\""); i >= 0 {
		text = text[i:]
	}
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) < 2 || len(records[1]) < 5 {
		return 0, 0, fmt.Errorf("redis-benchmark said %q", text)
	}
	if rps, err = strconv.ParseFloat(records[1][1], 64); err != nil {
		return 0, 0, err
	}
	p50, err = strconv.ParseFloat(records[1][4], 64)
	return rps, p50, err
}

// load is a load of our own generator: batches of commands. Each batch is one write, and the next
// one follows when all its replies have come.
type load struct {
	clients  int
	duration time.Duration
	// batch appends the i-th batch of client c. It returns how many replies the batch will have,
	// and how many of them count as requests.
	batch func(dst []byte, c, i int) (out []byte, replies, requests int)
}

// result is the result of a load: requests per second and the latency of a batch.
type result struct {
	rps    float64
	hist   *hdrhistogram.Histogram
	errors int64
}

func (r result) ms(quantile float64) float64 {
	return float64(r.hist.ValueAtQuantile(quantile)) / 1000
}

func (l load) run(addr string) (result, error) {
	end := time.Now().Add(l.duration)
	return l.runWhile(addr, func() bool { return time.Now().Before(end) })
}

// runWhile sends batches as long as more returns true.
func (l load) runWhile(addr string, more func() bool) (result, error) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	var failed error
	var requests, errorReplies atomic.Int64
	total := hdrhistogram.New(1, 60_000_000, 3)
	begin := time.Now()
	for c := range l.clients {
		wait.Go(func() {
			h := hdrhistogram.New(1, 60_000_000, 3)
			err := l.client(addr, c, more, h, &requests, &errorReplies)
			mu.Lock()
			defer mu.Unlock()
			total.Merge(h)
			if err != nil && failed == nil {
				failed = err
			}
		})
	}
	wait.Wait()
	return result{float64(requests.Load()) / time.Since(begin).Seconds(), total, errorReplies.Load()}, failed
}

func (l load) client(addr string, c int, more func() bool, h *hdrhistogram.Histogram, requests, errorReplies *atomic.Int64) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 64<<10)
	var buf []byte
	for i := 0; more(); i++ {
		var replies, n int
		buf, replies, n = l.batch(buf[:0], c, i)
		begin := time.Now()
		if _, err := conn.Write(buf); err != nil {
			return err
		}
		for range replies {
			isError, err := skipReply(r)
			if err != nil {
				return err
			}
			if isError {
				errorReplies.Add(1)
			}
		}
		_ = h.RecordValue(max(time.Since(begin).Microseconds(), 1))
		requests.Add(int64(n))
	}
	return nil
}

// skipReply reads one reply with all its elements.
func skipReply(r *bufio.Reader) (isError bool, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return false, err
	}
	switch line[0] {
	case '-':
		return true, nil
	case '$':
		n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
		if err != nil {
			return false, err
		}
		if n >= 0 {
			_, err = r.Discard(n + 2)
		}
		return false, err
	case '+', ':', '_', '#', ',':
		return false, nil
	case '*', '>', '~':
		n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
		for i := 0; err == nil && i < n; i++ {
			_, err = skipReply(r)
		}
		return false, err
	}
	return false, errors.New("unexpected reply " + string(line))
}

// appendCommand appends a RESP command.
func appendCommand(dst []byte, args ...string) []byte {
	dst = fmt.Appendf(dst, "*%d\r\n", len(args))
	for _, a := range args {
		dst = fmt.Appendf(dst, "$%d\r\n%s\r\n", len(a), a)
	}
	return dst
}

// runBatches sends a fixed number of batches per client.
func (l load) runBatches(addr string, batches int) error {
	var wait sync.WaitGroup
	errs := make([]error, l.clients)
	for c := range l.clients {
		wait.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				errs[c] = err
				return
			}
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 64<<10)
			var buf []byte
			for i := range batches {
				var replies int
				buf, replies, _ = l.batch(buf[:0], c, i)
				if _, err := conn.Write(buf); err != nil {
					errs[c] = err
					return
				}
				for range replies {
					if isError, err := skipReply(r); err != nil || isError {
						errs[c] = fmt.Errorf("fill: an error reply, or %v", err)
						return
					}
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
