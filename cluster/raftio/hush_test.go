package raftio

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

type fakeLayer struct{ accepted chan time.Time }

func (f *fakeLayer) Accept() (net.Conn, error) {
	f.accepted <- time.Now()
	return nil, net.ErrClosed
}
func (f *fakeLayer) Close() error   { return nil }
func (f *fakeLayer) Addr() net.Addr { return &net.TCPAddr{} }
func (f *fakeLayer) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	return nil, net.ErrClosed
}

func TestRestartedNodeHearsNobodyUntilItsPromiseHasRunOut(t *testing.T) {
	layer := &fakeLayer{make(chan time.Time, 2)}
	const length = 30 * time.Millisecond
	begin := time.Now()
	h := NewHush(layer, length)
	for range 2 {
		_, _ = h.Accept()
		if at := <-layer.accepted; at.Sub(begin) < length {
			t.Errorf("after %v", at.Sub(begin))
		}
	}
}

func TestClosedWhileSilent(t *testing.T) {
	h := NewHush(&fakeLayer{}, time.Hour)
	ended := make(chan error)
	go func() { _, err := h.Accept(); ended <- err }()
	h.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
