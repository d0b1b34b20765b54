package transport

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"runtime"
	"testing"
)

func frame(id uint64, code uint8, payload []byte) []byte {
	return append(appendFrameHead(nil, id, code, len(payload), crc32.Checksum(payload, castagnoli)), payload...)
}

func TestFlippedBitDoesNotGetThrough(t *testing.T) {
	whole := frame(7, kindEcho, []byte("payload"))
	for bit := range 8 * len(whole) {
		damaged := bytes.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, _, _, err := readFrame(bufio.NewReader(bytes.NewReader(damaged)), FrameBytesMax); err == nil {
			t.Fatalf("bit %d", bit)
		}
	}
	if _, _, _, err := readFrame(bufio.NewReader(bytes.NewReader(append(whole[:len(whole)-1], 'X'))), FrameBytesMax); !errors.Is(err, errDamaged) {
		t.Error(err)
	}
}

func TestClaimedLengthTakesNoMemory(t *testing.T) {
	head := appendFrameHead(nil, 1, kindEcho, FrameBytesMax-bodyHead, 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, _, err := readFrame(bufio.NewReader(bytes.NewReader(head)), FrameBytesMax); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Errorf("%d bytes", grown)
	}
	if _, _, _, err := readFrame(bufio.NewReader(bytes.NewReader([]byte("\xff\xff\xff\xff0123456789abcdef"))), FrameBytesMax); err == nil {
		t.Error("a frame of 4 GiB")
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(frame(1, kindEcho, []byte("x")))
	f.Add(frame(0, kindPing, nil))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for rest := data; ; {
			id, code, payload, err := readFrame(r, FrameBytesMax)
			if err != nil {
				return
			}
			again := frame(id, code, payload)
			if !bytes.HasPrefix(rest, again) {
				t.Fatalf("read %x, wrote %x", rest, again)
			}
			rest = rest[len(again):]
		}
	})
}

func FuzzReadPreface(f *testing.F) {
	f.Add((&preface{kind: streamRaft, group: 3, clusterID: "c", nodeID: "n-1", target: "n-2"}).append(nil))
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readPreface(bytes.NewReader(data))
		if err == nil && !bytes.HasPrefix(data, p.append(nil)) {
			t.Fatalf("%+v", p)
		}
	})
}

// A frame that is too long or too short is refused before its payload is read.
func TestAFrameOfAWrongLengthIsRefusedUnread(t *testing.T) {
	for _, n := range []uint32{0, bodyHead - 1, FrameBytesMax + 1, 1<<32 - 1} {
		head := binary.LittleEndian.AppendUint32(nil, n)
		head = append(head, make([]byte, frameHead+bodyHead-len(head))...)
		_, _, _, err := readFrame(bufio.NewReader(bytes.NewReader(head)), FrameBytesMax)
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errDamaged) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
