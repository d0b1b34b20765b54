package fsm

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"lockstep/engine"
)

// FuzzSnapshot: whatever changes in a snapshot, a machine refuses it with an error or accepts it. A
// machine that accepts it can write a snapshot again.
func FuzzSnapshot(f *testing.F) {
	m := New(Config{Group: 7, Engine: engine.Config{LockSlots: 16}})
	for i, args := range [][]string{
		{"set", "s", "v", "ex", "100"}, {"rpush", "l", "a", "b"}, {"hset", "h", "f", "v"}, {"sadd", "u", "1", "2", "x"},
		{"zadd", "z", "1", "m"}, {"xadd", "x", "1-1", "f", "v"}, {"xgroup", "create", "x", "g", "0"}, {"script", "load", "return 1"},
		{"function", "load", "#!lua name=lib\nredis.register_function('f', function() return 1 end)"}, {"pfadd", "p", "a"}, {"del", "s"},
	} {
		b := Bundle{Origin: Origin{Node: 5, Boot: 1}, FirstSeq: uint64(i), AckedBelow: 0, Txns: []Txn{txnOf(0, args...)}}
		if err := m.Apply(uint64(i+1), entryOf(uint64(i+1), b)); err != nil {
			f.Fatal(err)
		}
	}
	image := imageOf(f, m)
	m.Close()
	image = image[:len(image)-8] // without the checksum
	f.Add([]byte{})
	f.Add([]byte{9, 0, 255, 40, 0, 1})
	f.Fuzz(func(t *testing.T, edits []byte) {
		// A checksum of zero means that there is no checksum.
		data := append(bytes.Clone(image), make([]byte, 8)...)
		for ; len(edits) >= 3; edits = edits[3:] {
			data[int(binary.LittleEndian.Uint16(edits))%len(image)] = edits[2]
		}
		if len(edits) > 0 { // cut
			at := int(edits[0]) * len(image) / 256
			data = append(data[:at:at], make([]byte, 8)...)
		}
		m := New(Config{Group: 7, Engine: engine.Config{LockSlots: 16}})
		defer m.Close()
		if m.Restore(bytes.NewReader(data)) != nil {
			return
		}
		snap, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Release()
		if err := snap.Persist(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}
