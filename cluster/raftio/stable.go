package raftio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// Keys under which hashicorp/raft keeps its vote.
const (
	keyVoteTerm = "LastVoteTerm"
	keyVoteCand = "LastVoteCand"
)

// keyRecord is the one key in the file: all values with their keys, and a checksum.
var keyRecord = []byte("lockstep.stable")

var (
	// errNotFound has the text by which Raft recognizes a missing key.
	errNotFound = errors.New("not found")
	errStable   = errors.New("term and vote are damaged")
)

// StableStore is a raft.StableStore under the watchdog. It keeps all values in one record
// with a checksum: neither raft-boltdb nor bbolt would notice a flipped bit in a term or
// a vote, and the node would vote twice, or raise the whole cluster's term. The record
// exists from the file's first moment, so that a missing record is a loss.
//
// A vote is written in one piece. Raft stores the term of its vote first and the
// candidate after it. A crash in between leaves the new term with the old candidate,
// which would then get a second vote without a check of its log (hashicorp/raft#661). So
// the term is held back until the candidate comes.
type StableStore struct {
	inner raft.StableStore
	pen   pen
	// writing is held while a record is written.
	writing sync.Mutex

	mu     sync.Mutex // guards values, term, held
	values map[string][]byte
	// term is the term of a vote whose candidate has not come yet, while held is true.
	term uint64
	held bool
}

var _ raft.StableStore = (*StableStore)(nil)

// guardStable puts the watchdog around a store that beginStable has begun.
func guardStable(inner raft.StableStore, dog *Watchdog) (*StableStore, error) {
	record, err := inner.Get(keyRecord)
	if err != nil {
		return nil, fmt.Errorf("%w: they cannot be read: %w; %s", errStable, err, rejoin)
	}
	values, ok := parseStable(record)
	if !ok {
		return nil, fmt.Errorf("%w: the checksum is wrong; %s", errStable, rejoin)
	}
	return &StableStore{inner: inner, pen: pen{dog: dog}, values: values}, nil
}

// beginStable writes the first record.
func beginStable(inner raft.StableStore) error { return inner.Set(keyRecord, appendStable(nil, nil)) }

// appendStable writes a record: for each key, in their order, its length u8, the key, the
// value's length u32, the value; then a checksum u32 of all of it.
func appendStable(b []byte, values map[string][]byte) []byte {
	begin := len(b)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		b = append(append(b, byte(len(key))), key...)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(values[key]))), values[key]...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[begin:], castagnoli))
}

func parseStable(record []byte) (values map[string][]byte, ok bool) {
	values = map[string][]byte{}
	end := len(record) - 4
	if end < 0 || crc32.Checksum(record[:end], castagnoli) != binary.LittleEndian.Uint32(record[end:]) {
		return nil, false
	}
	for b := record[:end]; len(b) > 0; {
		n := 1 + int(b[0])
		if len(b) < n+4 {
			return nil, false
		}
		key, length := string(b[1:n]), uint64(binary.LittleEndian.Uint32(b[n:]))
		b = b[n+4:]
		if length > uint64(len(b)) {
			return nil, false
		}
		values[key], b = slices.Clone(b[:length]), b[length:]
	}
	return values, true
}

// write changes all of the values, or none of them.
func (s *StableStore) write(what string, change map[string][]byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	values := maps.Clone(s.values)
	s.mu.Unlock()
	maps.Copy(values, change)
	record := appendStable(nil, values)
	if err := s.pen.write(what, func() error { return s.inner.Set(keyRecord, record) }); err != nil {
		return err
	}
	s.mu.Lock()
	s.values = values
	s.mu.Unlock()
	return nil
}

// SetUint64 implements raft.StableStore.
func (s *StableStore) SetUint64(key []byte, value uint64) error {
	if string(key) == keyVoteTerm {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.term, s.held = value, true
		return nil
	}
	return s.write("writing the term", map[string][]byte{string(key): binary.BigEndian.AppendUint64(nil, value)})
}

// Set implements raft.StableStore.
func (s *StableStore) Set(key, value []byte) error {
	change := map[string][]byte{string(key): slices.Clone(value)}
	if string(key) != keyVoteCand {
		return s.write("writing the stable store", change)
	}
	s.mu.Lock()
	term, held := s.term, s.held
	s.held = false
	s.mu.Unlock()
	if !held {
		return errors.New("raftio: a candidate without a term")
	}
	change[keyVoteTerm] = binary.BigEndian.AppendUint64(nil, term)
	return s.write("writing the vote", change)
}

// GetUint64 implements raft.StableStore.
func (s *StableStore) GetUint64(key []byte) (uint64, error) {
	value, err := s.Get(key)
	switch {
	case err != nil:
		return 0, err
	case len(value) != 8:
		return 0, fmt.Errorf("raftio: %s has %d bytes and is no number", key, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// Get implements raft.StableStore.
func (s *StableStore) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[string(key)]
	if !ok {
		return nil, errNotFound
	}
	return slices.Clone(value), nil
}
