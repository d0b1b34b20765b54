package shard

import (
	"fmt"
	"testing"

	"lockstep/engine"
	"lockstep/fsm"
)

// BenchmarkFollow decodes a bundle of common writes while a client waits for another key.
func BenchmarkFollow(b *testing.B) {
	s := &Shard{machine: fsm.New(fsm.Config{Engine: engine.Config{LockSlots: 8}})}
	defer s.machine.Close()
	s.waiters.init(s)
	const txns = 100
	bundle := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1}}
	for i := range txns {
		bundle.Txns = append(bundle.Txns, commandTxn("set", fmt.Sprint("key:", i), "a value"))
	}
	calls := []*bundleCall{newBundleCall(fsm.AppendBundle(nil, &bundle), txns, nil, &s.admit)}
	s.waiters.table.takers.Store(1)
	f := follower{waiters: &s.waiters, room: servedBytesMax}
	for b.Loop() {
		f.bundle(0, calls[0].bundle)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/txns, "ns/txn")
}
