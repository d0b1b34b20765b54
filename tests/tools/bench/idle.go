package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// idle measures the cost of an unused cluster of three nodes for its machine, with 1, 4 and 16
// shards side by side: processor time, memory, open files and threads.
func idle(b *bench) error {
	var cpu, memory, files, threads []*row
	counts := []int{1, 4, 16}
	for _, kind := range []struct {
		rows       *[]*row
		name, unit string
	}{
		{&cpu, "idle CPU of three nodes, %d shards (of one core)", "%"},
		{&memory, "idle memory of three nodes, %d shards (resident)", "MiB"},
		{&files, "open files of three idle nodes, %d shards", "files"},
		{&threads, "threads of three idle nodes, %d shards", "threads"},
	} {
		for _, shards := range counts {
			*kind.rows = append(*kind.rows, b.row(row{name: fmt.Sprintf(kind.name, shards), unit: kind.unit}))
		}
	}
	for i, shards := range counts {
		for range b.rounds {
			all, err := b.cluster(3, defaultStore, "--shards", strconv.Itoa(shards))
			if err != nil {
				killAll(all)
				return err
			}
			// A new cluster spreads its leaders first.
			<-time.After(b.seconds(10))
			span := b.seconds(15)
			used := sum(all, (*server).cpuSeconds)
			<-time.After(span)
			used = sum(all, (*server).cpuSeconds) - used
			cpu[i].ours = append(cpu[i].ours, 100*used/span.Seconds())
			memory[i].ours = append(memory[i].ours, sum(all, (*server).rss)/(1<<20))
			files[i].ours = append(files[i].ours, sum(all, func(s *server) float64 { return s.entries("fd") }))
			threads[i].ours = append(threads[i].ours, sum(all, func(s *server) float64 { return s.entries("task") }))
			killAll(all)
		}
	}
	return nil
}

// sum adds up a figure over all servers.
func sum(all []*server, of func(*server) float64) float64 {
	total := 0.0
	for _, s := range all {
		total += of(s)
	}
	return total
}

// entries counts what the kernel lists for a process in a folder: its open files (fd) or threads
// (task).
func (s *server) entries(folder string) float64 {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/%s", s.cmd.Process.Pid, folder))
	if err != nil {
		return 0
	}
	return float64(len(all))
}
