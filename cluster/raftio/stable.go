package raftio

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/hashicorp/raft"
)

// Keys under which hashicorp/raft keeps its vote.
const (
	keyVoteTerm = "LastVoteTerm"
	keyVoteCand = "LastVoteCand"
	// keyVote is ours: term u64, then the candidate.
	keyVote = "lockstep.vote"
)

// errNotFound has the text by which Raft knows a missing key.
var errNotFound = errors.New("not found")

// StableStore is a raft.StableStore under watch that writes a vote in one
// piece. Raft stores the term of its vote first and the candidate after it; a
// crash in between leaves the new term with the old candidate, who would then be
// granted a second vote without a look at its log (hashicorp/raft#661). So the
// term is held back until the candidate comes.
type StableStore struct {
	inner raft.StableStore
	dog   *Watchdog
	pen   pen

	mu sync.Mutex
	// term is the vote's whose candidate has not come yet, while held.
	term uint64
	held bool
}

func guardStable(inner raft.StableStore, dog *Watchdog) *StableStore {
	return &StableStore{inner: inner, dog: dog, pen: pen{dog: dog}}
}

// SetUint64 implements raft.StableStore.
func (s *StableStore) SetUint64(key []byte, value uint64) error {
	if string(key) != keyVoteTerm {
		return s.pen.write("writing the term", func() error { return s.inner.SetUint64(key, value) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term, s.held = value, true
	return nil
}

// Set implements raft.StableStore.
func (s *StableStore) Set(key, value []byte) error {
	if string(key) != keyVoteCand {
		return s.pen.write("writing the stable store", func() error { return s.inner.Set(key, value) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		return errors.New("raftio: a candidate without a term")
	}
	s.held = false
	vote := append(binary.BigEndian.AppendUint64(nil, s.term), value...)
	return s.pen.write("writing the vote", func() error { return s.inner.Set([]byte(keyVote), vote) })
}

// GetUint64 implements raft.StableStore.
func (s *StableStore) GetUint64(key []byte) (value uint64, err error) {
	if string(key) == keyVoteTerm {
		value, _, err = s.vote()
		return value, err
	}
	err = s.dog.read("reading the stable store", func() error { value, err = s.inner.GetUint64(key); return err })
	return value, err
}

// Get implements raft.StableStore.
func (s *StableStore) Get(key []byte) (value []byte, err error) {
	if string(key) == keyVoteCand {
		_, value, err = s.vote()
		return value, err
	}
	err = s.dog.read("reading the stable store", func() error { value, err = s.inner.Get(key); return err })
	return value, err
}

// vote reads the stored vote.
func (s *StableStore) vote() (term uint64, candidate []byte, err error) {
	b, err := s.Get([]byte(keyVote))
	if err != nil {
		return 0, nil, err
	}
	if len(b) < 8 {
		return 0, nil, errNotFound
	}
	return binary.BigEndian.Uint64(b), b[8:], nil
}
