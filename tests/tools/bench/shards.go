package main

import (
	"fmt"
	"strconv"
)

// shards measures SET of one node with 1, 4 and 16 shards, whose logs are separate files or one
// shared file, side by side.
func shards(b *bench) error {
	type node struct {
		name   string
		server *server
	}
	var nodes []node
	for _, n := range []struct {
		shards int
		shared string
	}{{1, "no"}, {4, "yes"}, {4, "no"}, {16, "yes"}, {16, "no"}} {
		all, err := b.cluster(1, defaultStore, "--shards", strconv.Itoa(n.shards), "--raft-log-shared", n.shared)
		defer killAll(all)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%d shards, a log for each", n.shards)
		switch {
		case n.shards == 1:
			name = "1 shard"
		case n.shared == "yes":
			name = fmt.Sprintf("%d shards, one log", n.shards)
		}
		nodes = append(nodes, node{name, all[0]})
	}
	for _, l := range []struct{ clients, pipeline int }{{50, 1}, {200, 1}, {50, 16}} {
		rows := make([]*row, len(nodes))
		for i, n := range nodes {
			rows[i] = b.row(row{name: fmt.Sprintf("one node, wal, %s: SET 3 B, %d clients, pipeline %d", n.name, l.clients, l.pipeline), unit: "req/s"})
		}
		for range b.rounds {
			for i, n := range nodes {
				r, err := load{l.clients, b.seconds(3), setBatch(l.pipeline, 3, false)}.run(n.server.addr())
				if err != nil {
					return err
				}
				if r.errors > 0 {
					return fmt.Errorf("%s: %d errors", n.name, r.errors)
				}
				rows[i].ours = append(rows[i].ours, r.rps)
			}
		}
		for _, r := range rows[1:] {
			r.note = fmt.Sprintf("%.2f of one shard", r.ours.median()/rows[0].ours.median())
		}
	}
	return nil
}
