package client

import (
	"context"
	"net"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/proto/resp"
)

// echoes is an Executor that costs nothing.
type echoes struct{}

var okReply = []byte("+OK\r\n")

func (echoes) Indexes(context.Context, []int) ([]uint64, error) { return nil, nil }
func (echoes) Await(context.Context, map[int]uint64) bool       { return true }
func (echoes) ShardOfSlot(uint16) int                           { return 0 }
func (echoes) Shards() int                                      { return 1 }
func (echoes) Do(_ context.Context, calls []*cluster.Call) {
	for _, c := range calls {
		c.Reply = okReply
	}
}

type fixed struct{ s *Settings }

func (f fixed) Settings() *Settings { return f.s }

func (echoes) Block(context.Context, time.Duration, *cluster.Call, [][]byte) bool { return false }

// sink is a connection that forgets.
type sink struct{}

func (sink) Secured() bool                    { return false }
func (sink) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (sink) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (sink) Write(p []byte) (int, error)      { return len(p), nil }
func (sink) WriteLater([]byte) (bool, error)  { return false, nil }
func (sink) Kick()                            {}
func (sink) SetAuthenticated(bool)            {}
func (sink) Usage() resp.Usage                { return resp.Usage{} }
func (sink) Watch() (<-chan struct{}, func()) { return nil, func() {} }
func (sink) Close() error                     { return nil }
func (sink) Flush(time.Duration)              {}

func benchmarkBatch(b *testing.B, n int, command ...string) {
	backend := &Backend{Executor: echoes{}, Source: fixed{&Settings{SlowerThanUs: 10000, SlowlogLen: 128}}}
	c := New(b.Context(), backend, NewRegistry(), NewStats(), sink{})
	var args [][]byte
	for _, a := range command {
		args = append(args, []byte(a))
	}
	batch := make([][][]byte, n)
	for i := range batch {
		batch[i] = args
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Handle(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/command")
}

func BenchmarkSet1(b *testing.B)   { benchmarkBatch(b, 1, "SET", "key:000000000001", "xxx") }
func BenchmarkSet16(b *testing.B)  { benchmarkBatch(b, 16, "SET", "key:000000000001", "xxx") }
func BenchmarkGet16(b *testing.B)  { benchmarkBatch(b, 16, "GET", "key:000000000001") }
func BenchmarkPing16(b *testing.B) { benchmarkBatch(b, 16, "PING") }
