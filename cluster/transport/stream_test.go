package transport

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// dialed opens a stream of a group from b to a and returns both ends.
func dialed(t *testing.T, from, to *StreamLayer, addr string) (near, far net.Conn) {
	t.Helper()
	near, err := from.Dial(raft.ServerAddress(addr), dialPatience)
	if err != nil {
		t.Fatal(err)
	}
	far, err = to.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}

func TestStreamsOfGroupsShareThePort(t *testing.T) {
	a, addr := open(t, "a", "c", nil)
	b, _ := open(t, "b", "c", nil)
	for group := range uint32(3) {
		near, far := dialed(t, b.StreamLayer(group), a.StreamLayer(group), addr)
		msg := []byte{'g', byte(group)}
		if _, err := near.Write(msg); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 2)
		if _, err := io.ReadFull(far, got); err != nil || string(got) != string(msg) {
			t.Errorf("group %d: %q %v", group, got, err)
		}
	}
	if _, err := b.StreamLayer(9).Dial(raft.ServerAddress(addr), dialPatience); !errors.Is(err, ErrRefused) {
		t.Errorf("a group that is not open: %v", err)
	}
}

func TestWrongNodeIsNotTakenForTheOneThatIsMeant(t *testing.T) {
	a, addr := open(t, "a", "c", nil)
	b, _ := open(t, "b", "c", nil)
	a.StreamLayer(0)
	layer := b.StreamLayer(0)
	if _, err := layer.Dial(raft.ServerAddress(Target("a", addr)), dialPatience); err != nil {
		t.Error(err)
	}
	_, err := layer.Dial(raft.ServerAddress(Target("x", addr)), dialPatience)
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "this is node a, not x") {
		t.Error(err)
	}
}

func TestClosingOneGroupLeavesTheOthersAndThePort(t *testing.T) {
	a, addr := open(t, "a", "c", echoes)
	b, _ := open(t, "b", "c", nil)
	a0, a1, b0, b1 := a.StreamLayer(0), a.StreamLayer(1), b.StreamLayer(0), b.StreamLayer(1)
	near0, _ := dialed(t, b0, a0, addr)
	near1, far1 := dialed(t, b1, a1, addr)
	a0.Close()
	if _, err := a0.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept: %v", err)
	}
	_ = near0.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := near0.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection of the closed group: %v", err)
	}
	if _, err := far1.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if _, err := near1.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if _, err := b.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Error(err)
	}
	// The group can be opened again.
	dialed(t, b0, a.StreamLayer(0), addr)
}

func TestSenderThatStandsStillWithinAMessageIsGivenUp(t *testing.T) {
	a, addr := open(t, "a", "c", func(tr *Transport) { tr.pace.messageGap = 20 * time.Millisecond })
	b, _ := open(t, "b", "c", nil)
	near, far := dialed(t, b.StreamLayer(0), a.StreamLayer(0), addr)
	if _, err := near.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	if _, err := io.ReadFull(far, buf); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := far.Read(buf); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v", err)
	}
}

func TestConnectionMayRestBetweenMessages(t *testing.T) {
	const gap = 20 * time.Millisecond
	a, addr := open(t, "a", "c", func(tr *Transport) { tr.pace.messageGap = gap })
	b, _ := open(t, "b", "c", nil)
	near, far := dialed(t, b.StreamLayer(0), a.StreamLayer(0), addr)
	for range 2 {
		time.AfterFunc(3*gap, func() { near.Write([]byte("ask")) })
		buf := make([]byte, 3)
		if _, err := io.ReadFull(far, buf); err != nil {
			t.Fatal(err)
		}
		if _, err := far.Write([]byte("answer")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClosingTheTransportClosesTheStreams(t *testing.T) {
	a, addr := open(t, "a", "c", nil)
	b, _ := open(t, "b", "c", nil)
	near, _ := dialed(t, b.StreamLayer(0), a.StreamLayer(0), addr)
	a.Close()
	_ = near.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := near.Read(make([]byte, 1)); err == nil {
		t.Error("still open")
	} else if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("still open")
	}
}

// A node that was met at another address is dialled there, until a dial there fails.
func TestANodeIsDialledWhereItWasMet(t *testing.T) {
	a, addr := open(t, "a", "c", nil)
	b, other := open(t, "b", "c", nil)
	a.StreamLayer(0)
	layer := b.StreamLayer(0)
	old := raft.ServerAddress(Target("a", "127.0.0.1:1"))
	dial := func(to raft.ServerAddress) error {
		conn, err := layer.Dial(to, dialPatience)
		if err == nil {
			conn.Close()
		}
		return err
	}
	if dial(old) == nil {
		t.Fatal("somebody answers at port 1")
	}
	b.LearnAddress("a", addr)
	for range 2 {
		if err := dial(old); err != nil {
			t.Fatal(err)
		}
	}
	// A wrong address costs one failed dial, and never reaches the wrong node.
	b.LearnAddress("a", other)
	if err := dial(raft.ServerAddress(Target("a", addr))); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "this is node b, not a") {
		t.Fatal(err)
	}
	if err := dial(raft.ServerAddress(Target("a", addr))); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * learnedMax {
		b.LearnAddress(strconv.Itoa(i), addr)
	}
	if len(b.learned) != learnedMax {
		t.Errorf("%d are remembered", len(b.learned))
	}
}
