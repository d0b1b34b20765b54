package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// rss is a process's resident memory in bytes.
func (s *server) rss() float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb * 1024
		}
	}
	return 0
}

// cpuSeconds is the processor time a process has used.
func (s *server) cpuSeconds() float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may contain blanks.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const utime, stime, ticksPerSecond = 11, 12, 100
	u, _ := strconv.ParseFloat(fields[utime], 64)
	k, _ := strconv.ParseFloat(fields[stime], 64)
	return (u + k) / ticksPerSecond
}

// memory measures bytes per key and restart time with many small keys.
func memory(b *bench) error {
	keys := b.n(1_000_000)
	redis, err := b.redis("--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return err
	}
	defer redis.kill()
	all, err := b.cluster(1, defaultStore)
	defer killAll(all)
	if err != nil {
		return err
	}
	perKey := b.row(row{name: fmt.Sprintf("memory per key, %d keys of 16 B with 3 B (resident)", keys), unit: "B", target: 1.5})
	restart := b.row(row{name: fmt.Sprintf("restart with %d keys (log and snapshot as they are after SIGKILL)", keys), unit: "s"})
	for _, s := range []*server{redis, all[0]} {
		before := s.rss()
		if err := fill(s, keys); err != nil {
			return err
		}
		used := b.settledRSS(s) - before
		s.kill()
		begin := time.Now()
		if err := s.start(); err != nil {
			return err
		}
		if err := s.await(120*time.Second, func() bool { return ask(s.addr(), "DBSIZE") == ":"+strconv.Itoa(keys) }); err != nil {
			return err
		}
		took := time.Since(begin).Seconds()
		if s == redis {
			perKey.redis, restart.redis = sample{used / float64(keys)}, sample{took}
		} else {
			perKey.ours, restart.ours = sample{used / float64(keys)}, sample{took}
		}
	}
	return nil
}

// fill writes keys from key:000000000000 on.
func fill(s *server, keys int) error {
	const clients, pipeline = 8, 100
	share := keys / clients
	l := load{clients: clients, duration: time.Hour}
	l.batch = func(dst []byte, c, i int) ([]byte, int, int) {
		for k := i * pipeline; k < (i+1)*pipeline; k++ {
			dst = appendCommand(dst, "SET", fmt.Sprintf("key:%012d", c*share+k%share), "xxx")
		}
		return dst, pipeline, pipeline
	}
	return l.runBatches(s.addr(), share/pipeline)
}

// settledRSS waits until a process's memory has not shrunk for some seconds: both servers return
// memory some time after a burst.
func (b *bench) settledRSS(s *server) float64 {
	const calmSeconds, patienceSeconds = 6, 60
	least, calm := s.rss(), 0
	for range patienceSeconds {
		<-time.After(time.Second)
		now := s.rss()
		if now < least*0.995 {
			calm = 0
		} else if calm++; calm == calmSeconds {
			break
		}
		least = min(least, now)
	}
	return s.rss()
}

// failover measures the longest wait of a client on a surviving node when the leader is killed.
func failover(b *bench) error {
	for _, heartbeatMs := range []int{800, 300} {
		args := []string{"--raft-heartbeat-ms", strconv.Itoa(heartbeatMs), "--raft-election-ms", strconv.Itoa(heartbeatMs)}
		all, err := b.cluster(3, defaultStore, args...)
		if err != nil {
			killAll(all)
			return err
		}
		var pauses sample
		var errorsSeen int64
		for range max(b.rounds, 3) {
			nodes, err := leaderFirst(all)
			if err != nil {
				killAll(all)
				return err
			}
			pause, failed, err := killLeader(nodes)
			if err != nil {
				killAll(all)
				return err
			}
			pauses, errorsSeen = append(pauses, pause), errorsSeen+failed
			if err := nodes[0].start(); err != nil {
				return err
			}
			if err := nodes[0].await(30*time.Second, func() bool { return b.settled(all) }); err != nil {
				killAll(all)
				return err
			}
		}
		worst := 0.0
		for _, p := range pauses {
			worst = max(worst, p)
		}
		b.row(row{name: fmt.Sprintf("pause at a kill -9 of the leader, heartbeat %d ms (median)", heartbeatMs), unit: "s", ours: pauses,
			note: fmt.Sprintf("worst %.2f s of %d; errors to clients of surviving nodes: %d", worst, len(pauses), errorsSeen)})
		killAll(all)
	}
	return nil
}

func killLeader(nodes []*server) (pauseSec float64, errors int64, err error) {
	l := load{4, 6 * time.Second, setBatch(1, 3, false)}
	done := make(chan struct{})
	var res result
	go func() {
		defer close(done)
		res, err = l.run(nodes[1].addr())
	}()
	<-time.After(time.Second)
	nodes[0].kill()
	<-done
	if err != nil {
		return 0, 0, err
	}
	return float64(res.hist.Max()) / 1e6, res.errors, nil
}
