package raftio

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/hashicorp/raft"
)

// Stores do not expect files that are damaged while they are open, or in a part that was
// not examined. bbolt reads its file through a mapping, and if the file has become
// shorter, a memory fault ends the process. bbolt, raft-wal and their decoders panic over
// malformed data. hashicorp/raft panics if it cannot read an entry, or save its term. In
// all these cases the process would end with a stack instead of a reason. Here each of
// them becomes an error of the call, which the watchdog reports.

// panicked is the error of a call that panicked.
type panicked struct {
	value any
	stack []byte
}

// Error implements error.
func (p *panicked) Error() string {
	return fmt.Sprintf("the store cannot go on with what is in its files: %v; %s", p.value, rejoin)
}

// noPanic makes a call. It turns a panic or a memory fault in the call into an error.
func noPanic(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{p, debug.Stack()}
		}
	}()
	return call()
}

// ForRaft returns the log and the stable store for Raft. If one of them has failed, they
// end the goroutine of the library that called, instead of a panic that ends the process.
// The watchdog has reported the reason by then, and the process is about to end.
func (s *Stores) ForRaft() (raft.LogStore, raft.StableStore) {
	return raftLog{s.cache}, raftStable{s.Stable, s.log}
}

// StartRaft starts Raft by a call. The call may panic over an entry that the stores have
// refused. Then StartRaft returns that error.
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

// endIfBegun ends the goroutine over an error, if Raft runs. While Raft is still being
// started, StartRaft returns the error.
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
