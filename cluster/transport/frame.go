package transport

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A frame, in either direction:
//
//	length u32   of all that follows the checksum
//	checksum u32 CRC-32C of the payload, then of id and code
//	id u64       of the request; an answer repeats it
//	code u8      the kind of a request, or the result of an answer
//	payload
//
// TCP's own checksum lets through one error in 65,536, and what this node forwards becomes part of
// the replicated log.
const (
	frameHead = 4 + 4
	bodyHead  = 8 + 1
)

// kindPing asks for an empty answer at once.
const kindPing uint8 = 0

// pingAnswered is the id of the answer to a ping; those of requests begin with 1.
const pingAnswered uint64 = 0

// Codes of answers.
const (
	answerDone uint8 = iota
	// answerRefused: the request was not handled; the payload says why.
	answerRefused
	// answerLost: the request was handled, but there was no room for its answer.
	answerLost
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("a damaged frame")

// appendFrameHead appends the head of a frame. n is the length of the payload, sum its checksum.
func appendFrameHead(dst []byte, id uint64, code uint8, n int, sum uint32) []byte {
	var head [frameHead + bodyHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(bodyHead+n))
	binary.LittleEndian.PutUint64(head[8:], id)
	head[16] = code
	binary.LittleEndian.PutUint32(head[4:], crc32.Update(sum, castagnoli, head[8:]))
	return append(dst, head[:]...)
}

// readFrame reads one frame of at most bytesMax bytes. The payload belongs to the caller.
func readFrame(r *bufio.Reader, bytesMax int) (id uint64, code uint8, payload []byte, err error) {
	var head [frameHead + bodyHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n < bodyHead || n > uint32(bytesMax) {
		return 0, 0, nil, fmt.Errorf("a frame of %d bytes", n)
	}
	if payload, err = readBytes(r, int(n)-bodyHead); err != nil {
		return 0, 0, nil, err
	}
	sum := crc32.Update(crc32.Checksum(payload, castagnoli), castagnoli, head[8:])
	if sum != binary.LittleEndian.Uint32(head[4:]) {
		return 0, 0, nil, errDamaged
	}
	return binary.LittleEndian.Uint64(head[8:]), head[16], payload, nil
}

// readBytes reads n bytes. It never holds much more memory than has arrived, so a peer cannot make
// it allocate by claiming a length.
func readBytes(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, min(n, step))
	for read := 0; ; {
		if _, err := io.ReadFull(r, b[read:]); err != nil {
			return nil, err
		}
		read = len(b)
		if read == n {
			return b, nil
		}
		grown := make([]byte, min(n, 2*read))
		copy(grown, b)
		b = grown
	}
}
