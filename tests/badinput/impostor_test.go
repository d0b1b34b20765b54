package badinput

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"lockstep/cluster/leaders"
	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/router"
	"lockstep/cluster/secret"
	"lockstep/cluster/transport"
	"lockstep/fsm"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/ring"
)

// impostor is a node with another program. It knows everything that a member knows, and uses a
// member's name.
type impostor struct {
	*transport.Transport
	as identity.Identity
	r  *rand.Rand
}

// identityOf reads the identity of a node from its folder.
func identityOf(t *testing.T, n *proc.Node) (id identity.Identity) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(n.DataDir(), "identity.json"))
	if err == nil {
		err = json.Unmarshal(data, &id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// newImpostor returns an impostor with the name of a node.
func newImpostor(t *testing.T, n *proc.Node, r *rand.Rand) *impostor {
	t.Helper()
	id := identityOf(t, n)
	known, err := secret.ReadFile(filepath.Join(n.DataDir(), "cluster-secret"))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := transport.Listen(transport.Config{
		Ring:      ring.New(known.Text()),
		Advertise: "127.0.0.1:1", NodeID: string(id.ID()), ClusterID: func() string { return id.ClusterID },
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return &impostor{Transport: tr, as: id, r: r}
}

// peerRequest is a request between nodes.
type peerRequest struct {
	kind    uint8
	payload []byte
}

func txnFor(args ...string) fsm.Txn {
	op := fsm.Op{}
	for _, a := range args {
		op.Args = append(op.Args, []byte(a))
	}
	return fsm.Txn{Proto: 2, Ops: []fsm.Op{op}}
}

// patienceMs is how long a leader may take for the impostor's requests.
const patienceMs = 10_000

// bundle is a bundle with an identity, as its gateway sends it to a shard.
func bundle(o fsm.Origin, seq, acked uint64, args ...string) []byte {
	b := fsm.Bundle{Origin: o, FirstSeq: seq, AckedBelow: acked, Txns: []fsm.Txn{txnFor(args...)}}
	return fsm.AppendBundle(binary.AppendUvarint(make([]byte, 4), patienceMs), &b)
}

// head is the beginning of a bundle: its identity.
func head(o fsm.Origin, seq uint64) []byte {
	return fsm.AppendBundle(make([]byte, 4), &fsm.Bundle{Origin: o, FirstSeq: seq})
}

// wholeRequests returns valid requests of all kinds that nodes send.
func (i *impostor) wholeRequests() []peerRequest {
	origin := fsm.Origin{Node: i.as.Incarnation, Boot: i.as.Boot, Lane: 3}
	shard := []byte{0, 0, 0, 0}
	read := fsm.AppendBundle(append(binary.AppendUvarint(shard, patienceMs), 0), &fsm.Bundle{Txns: []fsm.Txn{txnFor("get", "k")}})
	wait := binary.LittleEndian.AppendUint64(append(shard, 0), i.as.Incarnation)
	wait = append(binary.LittleEndian.AppendUint64(wait, 7), 0, 1, 'k')
	relayed := func(gateway uint64, kind uint8, request []byte) []byte {
		return append(append(binary.LittleEndian.AppendUint64(nil, gateway), kind), request...)
	}
	row := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 1<<40), i.as.Incarnation)
	order := func(verb string, body any) []byte {
		b, _ := json.Marshal(map[string]any{"verb": verb, "group": meta.GroupID, "body": body, "timeout_ms": 100})
		return b
	}
	const publish, examine, backup, sight, notices, status, led, feed = 33, 34, 35, 36, 37, 32, 40, 48
	return []peerRequest{
		{router.KindPropose, bundle(origin, 1, 1, "set", "forged", "v")},
		{router.KindPropose, bundle(origin, 2, 1, "eval", "return redis.call('rpush', KEYS[1], 'x')", "1", "forged-list")},
		{router.KindRead, read}, {router.KindStale, read}, {router.KindIndex, shard}, {router.KindWait, wait}, {router.KindLeader, shard},
		{router.KindBusy, append(shard[:4:4], 1, 0)}, {router.KindTakeBack, head(origin, 2)},
		{router.KindRelay, relayed(0, router.KindPropose, bundle(origin, 3, 1, "set", "forged", "w"))}, {router.KindRelay, relayed(0, router.KindRead, read)},
		{router.KindRelay, relayed(0, router.KindIndex, shard)}, {router.KindRelay, relayed(0, router.KindWait, wait)},
		{router.KindRelayed, relayed(i.as.Incarnation, router.KindPropose, bundle(origin, 4, 1, "set", "forged", "x"))},
		{router.KindRelayed, relayed(i.as.Incarnation, router.KindTakeBack, head(origin, 4))},
		{leaders.Kind, row},
		{leaderrpc.Kind, order("meta.propose", map[string]any{"id": 1, "kind": "set-settings", "args": map[string]any{}})},
		{leaderrpc.Kind, order("placement.report", nil)}, {leaderrpc.Kind, order("member.transfer", "nobody")},
		{membership.KindKnock, []byte(`{"verb":"standing","body":{"node":"n1"}}`)}, {membership.KindKnock, []byte(`{"verb":"join","body":{}}`)},
		{publish, []byte("\x00\x07channelmessage")}, {examine, []byte("clock")}, {backup, []byte{0, 0, 0, 0, 0}}, {sight, []byte("5")},
		{notices, []byte("\x06\x01\x04\x00\x00\x00\x00")}, {status, nil}, {led, nil}, {feed, []byte{1, 0, 0, 9, 0, 0}}, {feed, []byte{2, 9, 0}},
	}
}

// mutate changes a payload in one to four places.
func (i *impostor) mutate(p []byte) []byte {
	p = bytes.Clone(p)
	for range []int{1, 1, 1, 2, 4}[i.r.IntN(5)] {
		if len(p) == 0 {
			p = []byte{0}
		}
		at := i.r.IntN(len(p))
		switch i.r.IntN(10) {
		case 0, 1, 2, 3:
			p[at] ^= 1 << i.r.IntN(8)
		case 4, 5:
			p[at] = []byte{0, 1, 127, 128, 255}[i.r.IntN(5)]
		case 6:
			p = p[:at]
		case 7:
			p = append(p[:at:at], append([]byte{byte(i.r.Uint32()), byte(i.r.Uint32())}, p[at:]...)...)
		case 8:
			p = append(p[:at], p[min(at+1+i.r.IntN(6), len(p)):]...)
		default:
			p = append(p[:at:at], append(bytes.Repeat([]byte{255}, 9), append([]byte{1}, p[at:]...)...)...)
		}
	}
	return p
}

// storm sends n mutated requests to each address. It returns when each was answered or refused, or
// its connection has ended.
func (i *impostor) storm(addrs []string, n int) (answered int) {
	whole := i.wholeRequests()
	results := make(chan error, len(addrs)*n)
	for range n {
		for _, addr := range addrs {
			w := whole[i.r.IntN(len(whole))]
			kind := w.kind
			if i.r.IntN(20) == 0 {
				kind = uint8(1 + i.r.IntN(255))
			}
			i.Go(addr, kind, i.mutate(w.payload), func(_ []byte, err error) { results <- err })
		}
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for range cap(results) {
		select {
		case err := <-results:
			if err == nil {
				answered++
			}
		case <-late.C:
			return answered // waits may take long
		}
	}
	return answered
}

// raftRequests returns requests to a Raft group that no correct program sends.
func raftRequests(r *rand.Rand, id string) [][]byte {
	header := raft.RPCHeader{ProtocolVersion: 3, ID: []byte(id), Addr: []byte("127.0.0.1:1")}
	term := []uint64{0, 1, 9, 1 << 40, 1<<64 - 1}[r.IntN(5)]
	wired := func(kind byte, command any) []byte {
		var b bytes.Buffer
		b.WriteByte(kind)
		if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(command); err != nil {
			panic(err)
		}
		return b.Bytes()
	}
	noise := make([]byte, 1+r.IntN(300))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	return [][]byte{
		wired(0, &raft.AppendEntriesRequest{RPCHeader: header, Term: term, Entries: []*raft.Log{nil}}),
		wired(0, &raft.AppendEntriesRequest{RPCHeader: header, Term: term, Entries: []*raft.Log{{Index: 1, Term: 1, Type: raft.LogType(r.IntN(256)), Data: noise}}}),
		wired(0, &raft.AppendEntriesRequest{RPCHeader: header, Term: term, Entries: []*raft.Log{{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: noise}}}),
		wired(1, &raft.RequestVoteRequest{RPCHeader: header, Term: 1<<64 - 1, LeadershipTransfer: true}),
		wired(2, &raft.InstallSnapshotRequest{RPCHeader: header, Term: term, SnapshotVersion: 1, LastLogIndex: 1 << 40, LastLogTerm: 1, Size: int64(r.Uint64()), Configuration: noise}),
		wired(4, &raft.RequestPreVoteRequest{RPCHeader: header, Term: 1<<64 - 1}),
		noise,
	}
}

// raftStorm sends such requests, each over its own connection.
func (i *impostor) raftStorm(t *testing.T, addr string, group uint32, n int) {
	t.Helper()
	layer := i.StreamLayer(group)
	defer layer.Close()
	for range n {
		for _, request := range raftRequests(i.r, string(i.as.ID())) {
			conn, err := layer.Dial(raft.ServerAddress(addr), patience)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = conn.Write(request)
			conn.Close()
		}
	}
}

// adminNoise sends mutated requests to an HTTP port.
func adminNoise(r *rand.Rand, i *impostor, addr string, n int) {
	whole := []string{
		"GET /livez HTTP/1.1\r\nHost: n\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost: n\r\nAccept-Encoding: gzip\r\n\r\n", "POST /ui/state HTTP/1.1\r\nHost: n\r\nContent-Length: 5\r\n\r\nabc",
		"GET /ui/series?recent=1 HTTP/1.1\r\nHost: n\r\nRange: bytes=0-1,5-9\r\n\r\n", "GET /debug/pprof/trace?seconds=9 HTTP/1.1\r\nHost: n\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
	for range n {
		conn, err := net.DialTimeout("tcp", addr, patience)
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(i.mutate([]byte(whole[r.IntN(len(whole))])))
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, io.LimitReader(conn, 1<<20))
		conn.Close()
	}
}

// metric is the sum over the series of a metric, read from the admin port.
func metric(t *testing.T, adminAddr, name string) (sum float64) {
	t.Helper()
	for _, line := range bytes.Split(get(t, adminAddr, "/metrics"), []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(name)) || len(line) == len(name) || line[len(name)] != '{' && line[len(name)] != ' ' {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(string(line[bytes.LastIndexByte(line, ' ')+1:]), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum += v
	}
	return sum
}
