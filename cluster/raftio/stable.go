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

var errNotFound = errors.New("not found")

// VoteStore is a StableStore that writes a vote in one piece. Raft stores the
// term of its vote first and the candidate after it; a crash in between leaves
// the new term with the old candidate, who would then be granted a second
// vote without a look at its log (hashicorp/raft#661). So the term is held
// back until the candidate comes.
type VoteStore struct {
	raft.StableStore
	mu   sync.Mutex
	term uint64
	held bool
}

// NewVoteStore wraps a store.
func NewVoteStore(s raft.StableStore) *VoteStore { return &VoteStore{StableStore: s} }

// SetUint64 implements raft.StableStore.
func (v *VoteStore) SetUint64(key []byte, value uint64) error {
	if string(key) != keyVoteTerm {
		return v.StableStore.SetUint64(key, value)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.term, v.held = value, true
	return nil
}

// Set implements raft.StableStore.
func (v *VoteStore) Set(key, value []byte) error {
	if string(key) != keyVoteCand {
		return v.StableStore.Set(key, value)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.held {
		return errors.New("raftio: a candidate without a term")
	}
	v.held = false
	return v.StableStore.Set([]byte(keyVote), append(binary.BigEndian.AppendUint64(nil, v.term), value...))
}

// GetUint64 implements raft.StableStore.
func (v *VoteStore) GetUint64(key []byte) (uint64, error) {
	if string(key) != keyVoteTerm {
		return v.StableStore.GetUint64(key)
	}
	term, _, err := v.vote()
	return term, err
}

// Get implements raft.StableStore.
func (v *VoteStore) Get(key []byte) ([]byte, error) {
	if string(key) != keyVoteCand {
		return v.StableStore.Get(key)
	}
	_, candidate, err := v.vote()
	return candidate, err
}

// vote reads the stored vote; Raft knows "no vote" by the text of the error.
func (v *VoteStore) vote() (uint64, []byte, error) {
	b, err := v.StableStore.Get([]byte(keyVote))
	if err != nil {
		return 0, nil, err
	}
	if len(b) < 8 {
		return 0, nil, errNotFound
	}
	return binary.BigEndian.Uint64(b), b[8:], nil
}
