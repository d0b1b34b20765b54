package live

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// errSpoolFull is returned if the cluster applies the stream more slowly than it comes.
var errSpoolFull = errors.New("too much of the source's stream waits to be applied")

// spoolShrinkBytes is the size from which a spool that was read to its end is truncated.
const spoolShrinkBytes = 16 << 20

// spool is a queue of bytes in an unnamed file. The file is a ring of at most max bytes, and never
// larger than the most bytes that have waited.
type spool struct {
	mu            sync.Mutex // guards what follows; held while the file is read or written
	come          *sync.Cond
	file          *os.File
	read, written int64
	max           int64
	err           error
}

func newSpool(dir string, maxBytes int64) (*spool, error) {
	f, err := unnamed(dir)
	if err != nil {
		return nil, err
	}
	s := &spool{file: f, max: maxBytes}
	s.come = sync.NewCond(&s.mu)
	return s, nil
}

// unnamed opens a file that is deleted when it is closed.
func unnamed(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "clusterctl-import-*")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	if s.written-s.read+int64(len(p)) > s.max {
		return 0, fmt.Errorf("%w: %d bytes", errSpoolFull, s.written-s.read)
	}
	if s.read == s.written && s.written > spoolShrinkBytes {
		if err := s.file.Truncate(0); err != nil {
			return 0, err
		}
		s.read, s.written = 0, 0
	}
	n := 0
	for n < len(p) {
		at := s.written % s.max
		m, err := s.file.WriteAt(p[n:min(len(p), n+int(s.max-at))], at)
		n += m
		s.written += int64(m)
		if err != nil {
			return n, err
		}
	}
	s.come.Broadcast()
	return n, nil
}

// Read implements io.Reader; it waits for bytes.
func (s *spool) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.read == s.written && s.err == nil {
		s.come.Wait()
	}
	if s.err != nil {
		return 0, s.err
	}
	at := s.read % s.max
	n, err := s.file.ReadAt(p[:min(int64(len(p)), s.written-s.read, s.max-at)], at)
	s.read += int64(n)
	if errors.Is(err, io.EOF) && n > 0 {
		err = nil
	}
	return n, err
}

// end wakes a waiting reader or writer, and makes later calls return at once.
func (s *spool) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.come.Broadcast()
}

func (s *spool) close() { _ = s.file.Close() }
