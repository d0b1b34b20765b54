package client

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/meta"
	"lockstep/proto/resp"
)

// How much a READONLY connection's reads must see. LOCKSTEP STALENESS bounds their
// age. LOCKSTEP TOKEN returns, for each shard that a connection has used, a log
// index that covers everything it has seen and done; LOCKSTEP WAITFOR makes another
// connection's reads see at least that. If this node's replica is not that far yet,
// the leader answers: a read never fails for being stale, and never waits longer
// than an ordinary one.

// freshnessHandlers are the subcommands of LOCKSTEP on freshness.
var freshnessHandlers = group{
	"lockstep|staleness": staleness, "lockstep|token": token, "lockstep|waitfor": waitFor,
}

const (
	// waitForMs is the default of LOCKSTEP WAITFOR's timeout, waitForMaxMs the
	// longest one.
	waitForMs    = 1000
	waitForMaxMs = 60_000
	// stalenessMaxMs is the greatest bound that can be set.
	stalenessMaxMs = 24 * 3600 * 1000
)

// shardSet is a set of shards.
type shardSet [meta.MaxShards / 64]uint64

func (s *shardSet) add(shard int) { s[shard/64] |= 1 << (shard % 64) }

func (s *shardSet) has(shard int) bool { return s[shard/64]&(1<<(shard%64)) != 0 }

// freshness is how much a connection's reads must see.
type freshness struct {
	owners slotOwners
	// readonly is true if the connection said READONLY.
	readonly bool
	// fresh is how much the reads of a READONLY connection must see; nil means that
	// any state will do.
	fresh *cluster.Freshness
	// shards are the shards that the connection has used, for LOCKSTEP TOKEN.
	shards shardSet
}

// slotOwners knows which shard owns a hash slot; an Executor does.
type slotOwners interface{ ShardOfSlot(slot uint16) int }

// used records the shard of a call.
func (f *freshness) used(call *cluster.Call) {
	shard := call.Shard
	if len(call.Slots) > 0 {
		shard = f.owners.ShardOfSlot(call.Slots[0])
	}
	f.shards.add(shard)
}

// refresh changes the required freshness from now on.
func (f *freshness) refresh(change func(*cluster.Freshness)) {
	next := cluster.Freshness{Floors: map[int]uint64{}}
	if f.fresh != nil {
		next.MaxAge = f.fresh.MaxAge
		maps.Copy(next.Floors, f.fresh.Floors)
	}
	change(&next)
	f.fresh = &next
}

// mayBeStale lets a call run on this node's replica, if the connection said so. It may not while
// the connection watches keys: WATCH must see the latest state, and a client that computes a new
// value from an old one would overwrite the writes in between.
func (c *Client) mayBeStale(call *cluster.Call) {
	if call.ReadOnly && c.readonly && len(c.tx.watches) == 0 {
		call.Stale, call.Fresh = true, c.fresh
	}
}

// staleness is LOCKSTEP STALENESS milliseconds: no read of this connection sees an
// older state. 0 removes the bound.
func staleness(c *Client, args [][]byte) {
	ms, ok := parseInt(args[2])
	if !ok || ms < 0 || ms > stalenessMaxMs {
		c.out.Error(fmt.Sprintf("ERR the staleness is a number of milliseconds from 0 (no bound) to %d", stalenessMaxMs))
		return
	}
	c.refresh(func(f *cluster.Freshness) { f.MaxAge = time.Duration(ms) * time.Millisecond })
	c.out.OK()
}

// token is LOCKSTEP TOKEN: "shard:index,...", empty for a connection that has
// used no shard.
func token(c *Client, _ [][]byte) {
	var shards []int
	for shard := range c.backend.Shards() {
		if c.shards.has(shard) {
			shards = append(shards, shard)
		}
	}
	indexes, err := c.backend.Indexes(c.ctx, shards)
	if err != nil {
		c.out.Error(resp.ErrorText(err))
		return
	}
	parts := make([]string, len(shards))
	for i, shard := range shards {
		parts[i] = fmt.Sprintf("%d:%d", shard, indexes[i])
	}
	c.out.BulkString(strings.Join(parts, ","))
}

// parseToken reads a token of a cluster with this many shards.
func parseToken(text string, shards int) (map[int]uint64, bool) {
	floors := map[int]uint64{}
	if text == "" {
		return floors, true
	}
	for part := range strings.SplitSeq(text, ",") {
		a, b, _ := strings.Cut(part, ":")
		shard, err := strconv.ParseUint(a, 10, 16)
		index, err2 := strconv.ParseUint(b, 10, 64)
		if _, twice := floors[int(shard)]; err != nil || err2 != nil || int(shard) >= shards || twice {
			return nil, false
		}
		floors[int(shard)] = index
	}
	return floors, true
}

// waitFor is LOCKSTEP WAITFOR token [milliseconds]. It answers 1 if this node's
// replicas reach the token's indexes in that time, else 0. In both cases later
// reads of this connection see at least that state.
func waitFor(c *Client, args [][]byte) {
	floors, ok := parseToken(string(args[2]), c.backend.Shards())
	ms := int64(waitForMs)
	if !ok || len(args) > 4 {
		c.out.Error("ERR the token is not one that LOCKSTEP TOKEN of this cluster gave")
		return
	}
	if len(args) == 4 {
		if ms, ok = parseInt(args[3]); !ok || ms < 0 || ms > waitForMaxMs {
			c.out.Error(fmt.Sprintf("ERR the time to wait is a number of milliseconds from 0 to %d", waitForMaxMs))
			return
		}
	}
	c.refresh(func(f *cluster.Freshness) {
		for shard, index := range floors {
			f.Floors[shard] = max(f.Floors[shard], index)
			c.shards.add(shard)
		}
	})
	ctx, cancel := context.WithTimeout(c.ctx, time.Duration(ms)*time.Millisecond)
	defer cancel()
	reached := int64(0)
	if c.backend.Await(ctx, floors) {
		reached = 1
	}
	c.out.Int(reached)
}
