package client

import (
	"context"
	"net"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/proto/acl"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

// echoes is an Executor that takes no time.
type echoes struct{}

var okReply = []byte("+OK\r\n")

func (echoes) Indexes(context.Context, []int) ([]uint64, error) { return nil, nil }
func (echoes) Await(context.Context, map[int]uint64) bool       { return true }
func (echoes) ShardOfSlot(uint16) int                           { return 0 }
func (echoes) Shards() int                                      { return 1 }
func (e echoes) Go(ctx context.Context, calls []*cluster.Call, _ func(bool)) bool {
	e.Do(ctx, calls)
	return true
}
func (echoes) Do(_ context.Context, calls []*cluster.Call) {
	for _, c := range calls {
		c.Reply = okReply
	}
}

type fixed struct{ s *Settings }

func (f fixed) Settings() *Settings { return f.s }

func (echoes) Block(context.Context, time.Duration, *cluster.Call, func()) bool { return false }

// sink is a connection that drops what is written.
type sink struct{ net.Conn }

func (sink) RemoteAddr() net.Addr           { return &net.TCPAddr{} }
func (sink) LocalAddr() net.Addr            { return &net.TCPAddr{} }
func (sink) TryWrite(p []byte) (int, error) { return len(p), nil }

// anybody has users that need not log in.
type anybody struct{ users *acl.Users }

func (a anybody) Users() *acl.Users                                    { return a.users }
func (anybody) ChangeUsers(func(*acl.Users) (acl.Change, error)) error { return nil }

// newAlone returns the only client of a node.
func newAlone(tb testing.TB, executor Executor, settings *Settings) *Client {
	return aloneOn(tb, sink{}, executor, settings)
}

func aloneOn(tb testing.TB, conn net.Conn, executor Executor, settings *Settings) *Client {
	backend := &Backend{Executor: executor, Source: fixed{settings}, Access: anybody{acl.NewUsers(nil, "", nil)}, Handlers: ownTable()}
	stats := stats.New()
	guard := resp.NewGuard(conn, func() resp.Limits { return resp.Limits{} }, &stats.Traffic)
	return New(tb.Context(), backend, NewRegistry(), stats, guard)
}

func benchmarkBatch(b *testing.B, n int, command ...string) {
	c := newAlone(b, echoes{}, &Settings{SlowerThanUs: 10000, SlowlogLen: 128})
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
