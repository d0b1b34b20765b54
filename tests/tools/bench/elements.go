package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// elements compares memory per element of values of three sizes: for Redis the bytes from its
// allocator (used_memory), for Lockstep the live heap after a collection. Both count bytes, without
// the reserves of the allocator or the collector, and hardly differ from run to run.
func elements(b *bench) error {
	redis, err := b.redis()
	if err != nil {
		return err
	}
	defer redis.kill()
	adminPort := b.ports()
	all, err := b.cluster(1, defaultStore, "--admin-port", strconv.Itoa(adminPort), "--admin-pprof", "yes")
	defer killAll(all)
	if err != nil {
		return err
	}
	ours := all[0]
	used := map[*server]func() (float64, error){
		redis: func() (float64, error) { return infoFigure(redis, "used_memory") },
		ours:  func() (float64, error) { return liveHeap(ours, adminPort) },
	}
	counted := func() (float64, error) { return infoFigure(ours, "used_memory") }
	const target = 1.5
	total := b.n(1_000_000)
	for _, k := range []kind{listKind, hashKind, setKind, zsetKind, streamKind} {
		for _, size := range []int{10, 100, 100_000} {
			keys := max(total/size, 1)
			r := b.row(row{name: fmt.Sprintf("memory per element, %d x %s of %d", keys, k.name, size), unit: "B", target: target})
			theirs, err := k.memory(redis, keys, size, used[redis])
			if err != nil {
				return err
			}
			live, err := k.memory(ours, keys, size, used[ours], counted)
			if err != nil {
				return err
			}
			r.redis, r.ours = sample{theirs[0]}, sample{live[0]}
			r.note = fmt.Sprintf("used_memory: %.1f B", live[1])
		}
	}
	return nil
}

// memory fills an empty server and returns by how much each figure grew, per element.
func (k kind) memory(s *server, keys, size int, figures ...func() (float64, error)) ([]float64, error) {
	if _, err := one(s.addr(), "FLUSHALL", "SYNC"); err != nil {
		return nil, err
	}
	if err := s.forgetEntries(); err != nil {
		return nil, err
	}
	grown := make([]float64, len(figures))
	for i, f := range figures {
		before, err := f()
		if err != nil {
			return nil, err
		}
		grown[i] = -before
	}
	if err := k.fillKeys(s, keys, size, 0, func(i int) string { return fmt.Sprintf("key:%012d", i) }); err != nil {
		return nil, err
	}
	if err := s.forgetEntries(); err != nil {
		return nil, err
	}
	for i, f := range figures {
		after, err := f()
		if err != nil {
			return nil, err
		}
		grown[i] = (grown[i] + after) / float64(keys*size)
	}
	return grown, nil
}

// forgetEntries fills the fixed number of recent entries and answers that a node keeps with small
// ones, so that they do not count as elements.
func (s *server) forgetEntries() error {
	const entries = 2000
	one := load{clients: 1, batch: func(dst []byte, _, _ int) ([]byte, int, int) {
		return appendCommand(dst, "SET", "small", "x"), 1, 1
	}}
	return one.runBatches(s.addr(), entries)
}

func infoFigure(s *server, name string) (float64, error) {
	return strconv.ParseFloat(field(s.addr(), name), 64)
}

// liveHeap runs two collections, because pools keep their objects over one, and returns the size of
// the heap.
func liveHeap(s *server, adminPort int) (float64, error) {
	client := http.Client{Timeout: time.Minute}
	for range 2 {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/debug/pprof/heap?gc=1", adminPort))
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			return 0, err
		}
		if resp.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("heap profile: %s", resp.Status)
		}
	}
	return infoFigure(s, "go_heap_alloc")
}
