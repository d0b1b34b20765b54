package raftio

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/hashicorp/raft"
)

// Stores do not expect files that are damaged while they have them open, or in a place
// that nothing has examined: bbolt reads its file through a mapping, which ends the
// process with a memory fault where the file has become shorter, and it, raft-wal and
// their decoders panic over what makes no sense. And hashicorp/raft panics where it
// cannot read an entry, or save its term. In all these cases the process would end with a
// stack instead of a reason. Here each becomes an error of the call, which the watchdog
// reports.

// panicked is the error of a call that panicked.
type panicked struct {
	value any
	stack []byte
}

// Error implements error.
func (p *panicked) Error() string {
	return fmt.Sprintf("the store cannot go on with what is in its files: %v; %s", p.value, rejoin)
}

// noPanic makes a call. A panic in it, and a memory fault, is its error.
func noPanic(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{p, debug.Stack()}
		}
	}()
	return call()
}

// ForRaft are the log and the stable store as Raft is given them: where they have failed,
// the goroutine of the library that asked ends, and not the process with a panic. The
// watchdog has said why by then, and the process is about to end.
func (s *Stores) ForRaft() (raft.LogStore, raft.StableStore) {
	return raftLog{s.cache}, raftStable{s.Stable, s.log}
}

// StartRaft has Raft started by a call, which may panic over an entry that the stores
// have refused. Then that is the error.
func (s *Stores) StartRaft(start func() error) (err error) {
	defer func() {
		p := recover()
		if failed := s.dog.failure(); p != nil && failed != nil {
			err = failed
		} else if p != nil {
			panic(p)
		}
	}()
	return start()
}

// endIfBegun ends the goroutine over an error, if Raft runs: before that Raft is being
// started, and StartRaft returns the error.
func (s *LogStore) endIfBegun(err error) error {
	if err != nil && !absent(err) && s.begun.Load() {
		runtime.Goexit()
	}
	return err
}

type raftLog struct{ *cache }

// GetLog implements raft.LogStore.
func (l raftLog) GetLog(index uint64, into *raft.Log) error {
	return l.endIfBegun(l.cache.GetLog(index, into))
}

type raftStable struct {
	raft.StableStore
	log *LogStore
}

// SetUint64 implements raft.StableStore.
func (s raftStable) SetUint64(key []byte, value uint64) error {
	return s.log.endIfBegun(s.StableStore.SetUint64(key, value))
}
