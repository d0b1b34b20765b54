package secret

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// A record: the length of the sealed bytes as a u16 (big-endian), then the sealed bytes.
const (
	recordHead = 2
	// recordMax is how many bytes one record carries.
	recordMax = 32 << 10
	// sealBytes is how many bytes sealing adds.
	sealBytes = 16
	// rekeyAfter is how many records are sealed with one key. Together they carry
	// far fewer bytes than AES-GCM may (RFC 8446, 5.5).
	rekeyAfter = 1 << 20
	// readAheadBytes is how many bytes beyond the current record one read takes.
	readAheadBytes = 4 << 10
)

// errRecord: a record is not what the other side sent.
var errRecord = errors.New("a damaged or forged record between nodes")

// buffers hold one record each.
var buffers = sync.Pool{New: func() any { return new([recordHead + recordMax + sealBytes]byte) }}

// records is a connection whose bytes travel in sealed records. After an error, a direction cannot
// be used again: the end of the record could not be found.
type records struct {
	net.Conn

	reading sync.Mutex // held over each Read; guards what it uses, down to readErr
	from    *bufio.Reader
	head    [recordHead]byte
	in      sealer
	// rest is the part of the last record that was not read yet; it lies in buffer.
	rest    []byte
	buffer  *[recordHead + recordMax + sealBytes]byte
	readErr error

	writing  sync.Mutex // held over each Write; guards out, writeErr
	out      sealer
	writeErr error
}

func newRecords(conn net.Conn, in, out []byte) *records {
	return &records{Conn: conn, from: bufio.NewReaderSize(conn, readAheadBytes), in: newSealer(in), out: newSealer(out)}
}

// Read implements net.Conn.
func (c *records) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	if len(c.rest) == 0 && c.readErr == nil {
		n, err := c.open(p)
		if err != nil || n > 0 {
			c.readErr = err
			return n, err
		}
	}
	if len(c.rest) == 0 {
		return 0, c.readErr
	}
	n := copy(p, c.rest)
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		buffers.Put(c.buffer)
		c.buffer = nil
	}
	return n, nil
}

// open reads the next record: into p if it fits there, else into buffer.
func (c *records) open(p []byte) (int, error) {
	if _, err := io.ReadFull(c.from, c.head[:]); err != nil {
		return 0, err
	}
	n := int(binary.BigEndian.Uint16(c.head[:]))
	if n <= sealBytes || n > recordMax+sealBytes {
		return 0, errRecord
	}
	buffer := buffers.Get().(*[recordHead + recordMax + sealBytes]byte)
	sealed := buffer[:n]
	if _, err := io.ReadFull(c.from, sealed); err != nil {
		buffers.Put(buffer)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, err
	}
	if len(p) >= n-sealBytes {
		plain, err := c.in.open(p[:0], sealed)
		buffers.Put(buffer)
		return len(plain), err
	}
	rest, err := c.in.open(sealed[:0], sealed)
	if err != nil {
		buffers.Put(buffer)
		return 0, err
	}
	c.rest, c.buffer = rest, buffer
	return 0, nil
}

// Write implements net.Conn.
func (c *records) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	buffer := buffers.Get().(*[recordHead + recordMax + sealBytes]byte)
	defer buffers.Put(buffer)
	written := 0
	for len(p) > 0 && c.writeErr == nil {
		part := p[:min(len(p), recordMax)]
		binary.BigEndian.PutUint16(buffer[:], uint16(len(part)+sealBytes))
		sealed := c.out.seal(buffer[:recordHead], part)
		if _, c.writeErr = c.Conn.Write(sealed); c.writeErr == nil {
			written += len(part)
			p = p[len(part):]
		}
	}
	return written, c.writeErr
}

// sealer seals, or opens, the records of one direction.
type sealer struct {
	chain []byte
	aead  cipher.AEAD
	count uint64
	nonce [12]byte
}

func newSealer(key []byte) sealer {
	s := sealer{chain: key}
	s.key()
	return s
}

// key derives the next key and replaces the value that the last one came from.
func (s *sealer) key() {
	block, err := aes.NewCipher(derive(s.chain, "key"))
	if err != nil {
		panic("secret: " + err.Error()) // the key has the right length
	}
	if s.aead, err = cipher.NewGCM(block); err != nil {
		panic("secret: " + err.Error())
	}
	s.chain = derive(s.chain, "next")
}

func derive(key []byte, what string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(what))
	return mac.Sum(nil)
}

// advance numbers the next record. No two records of one key have the same number.
func (s *sealer) advance() {
	if s.count > 0 && s.count%rekeyAfter == 0 {
		s.key()
	}
	binary.BigEndian.PutUint64(s.nonce[4:], s.count)
	s.count++
}

func (s *sealer) seal(dst, plain []byte) []byte {
	s.advance()
	return s.aead.Seal(dst, s.nonce[:], plain, nil)
}

func (s *sealer) open(dst, sealed []byte) ([]byte, error) {
	s.advance()
	plain, err := s.aead.Open(dst, s.nonce[:], sealed, nil)
	if err != nil {
		return nil, errRecord
	}
	return plain, nil
}
