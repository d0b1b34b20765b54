package feed

import (
	"fmt"
	"sync/atomic"
	"testing"

	"lockstep/fsm"
)

// BenchmarkChanged measures what a change costs the replica that reports it to the gateways, and
// how many bytes travel.
func BenchmarkChanged(b *testing.B) {
	for _, gateways := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("%d gateways", gateways), func(b *testing.B) {
			n := newNode()
			var bytes atomic.Int64
			for range gateways {
				var poll func(subscription, number uint64)
				poll = func(subscription, number uint64) {
					n.source.Serve(appendAll([]byte{opPoll}, subscription, number), func(answer []byte) {
						s := scanner{b: answer}
						if s.byte() != statusDone {
							return
						}
						bytes.Add(int64(len(answer)))
						// The next poll comes a little later, so changes gather meanwhile.
						go poll(subscription, s.number())
					})
				}
				n.source.Serve((&open{}).append(nil), func(answer []byte) {
					s := scanner{b: answer[1:]}
					poll(s.number(), 0)
				})
			}
			keys := named("user:12345678:name")
			out := n.source.Shard(0)
			b.ResetTimer()
			for range b.N {
				if out.Tracking() {
					out.Changed(fsm.TxnID{}, keys)
				}
			}
			b.ReportMetric(float64(bytes.Load())/float64(b.N), "sent-B/op")
		})
	}
}
