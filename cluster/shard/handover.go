package shard

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/fsm"
)

// A leader that gives the leadership away hands over its waiting clients, so that they keep
// their order and miss nothing.
//
//	old leader:  from now on it admits, ends and serves no waiting client, and accepts no
//	             entry; when the entries on their way have run, it sends the list and the
//	             log's last index to the new leader
//	new leader:  takes the list over if its term's first entry is the next in the log,
//	             and before it proposes anything
//
// This is safe because the list is exactly as new as the end of the log. A client that is
// not on the list any more was served, or its wait has ended. If it was served, the log
// says so; and the old leader ends no waits while another node may take the list over. If
// the old leader continues to lead, it first puts an entry into the log: with that entry
// the list has lapsed, no matter which replica leads later.
//
// If a leader is lost, its gateways ask the next one, in any order.

// These bound how long a transfer waits for entries on their way, and then for the list
// to arrive. The order of the clients is not worth more.
const (
	runMax  = time.Second
	handMax = time.Second
)

const (
	// listBytesMax bounds the waits of one message, and listsBytesMax those of a
	// handover. Clients beyond that bound ask the new leader themselves.
	listBytesMax  = 4 << 20
	listsBytesMax = 64 << 20
	// heirMax is how long a list is kept if no term starts.
	heirMax = 10 * time.Second
)

var errList = errors.New("shard: a list of waits makes no sense")

// inheritance is the list that another node handed to this one.
type inheritance struct {
	// last is the last index of the log when the list was made, and term is the term of
	// the leader that made it.
	last, term uint64
	came       time.Time
	bytes      int
	waits      []Wait
}

// handOver starts a handover: from now on nothing changes for the waiting clients.
func (w *waiters) handOver() Handover {
	w.hold(true)
	return &handover{s: w.shard}
}

// handover is the state of one transfer.
type handover struct {
	s *Shard
	// handed is true if a list may have arrived at the new leader.
	handed bool
}

// Hand implements Handover.
func (h *handover) Hand(to raft.ServerAddress, term, last uint64) {
	s := h.s
	if s.cfg.SendList == nil || s.waiters.table.takers.Load() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, runMax)
	defer cancel()
	if h.awaitRun(ctx, last) != nil {
		return
	}
	ctx, cancel = context.WithTimeout(s.ctx, handMax)
	defer cancel()
	sum := 0
	for _, list := range s.waiters.lists() {
		if sum += len(list); sum > listsBytesMax {
			return
		}
		h.handed = true
		head := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, term), last)
		if err := s.cfg.SendList(ctx, string(to), append(head, list...)); err != nil {
			s.cfg.Log.Warn("the next leader did not get the list of waiting clients; their order may change", "shard", s.ID(), "reason", err)
			return
		}
	}
}

// awaitRun waits until all entries of the log up to an index have run.
func (h *handover) awaitRun(ctx context.Context, last uint64) error {
	s := h.s
	for s.group.raft.Load().CommitIndex() < last && ctx.Err() == nil {
		pause(ctx, committedEvery)
	}
	err := errors.Join(ctx.Err(), s.group.awaitCommitted(ctx))
	for err == nil && s.machine.Executed() < s.machine.Queued() {
		pause(ctx, committedEvery)
		err = ctx.Err()
	}
	return err
}

// End implements Handover. A leader that continues to lead makes sure that no node takes
// the list over.
func (h *handover) End() {
	h.s.work(func() {
		for h.handed && h.s.group.IsLeader() && h.s.proposer.tick(h.s.ctx) != nil {
			pause(h.s.ctx, waitersPause)
		}
		h.s.waiters.hold(false)
	})
}

// waitersPause is the pause between two attempts to make a list lapse.
const waitersPause = 10 * time.Millisecond

// hold freezes the waiting clients, or releases them.
func (w *waiters) hold(yes bool) {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.holding = yes
	if yes {
		return
	}
	keys := make([]waitKey, 0, len(w.table.keys))
	for k := range w.table.keys { // order does not matter: all are looked at
		keys = append(keys, k)
	}
	w.looker.laterLocked(keys, nil)
	for _, x := range w.table.byID {
		w.restLocked(x)
	}
}

// lists encodes the waiting clients, the oldest first, in messages.
func (w *waiters) lists() (lists [][]byte) {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	var all []*waiter
	for _, x := range w.table.byID {
		if !x.shared && !x.over && x.flying == 0 && !x.last {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b *waiter) int { return cmp.Compare(a.no, b.no) })
	var list []byte
	for _, x := range all {
		if len(list)+x.bytes > listBytesMax && len(list) > 0 {
			lists, list = append(lists, list), nil
		}
		t := x.txn
		t.Kind = fsm.KindCommand
		bundle := fsm.AppendBundle(nil, &fsm.Bundle{Origin: x.id.Origin, FirstSeq: x.id.Seq, Txns: []fsm.Txn{t}})
		list = append(binary.AppendUvarint(list, uint64(len(bundle))), bundle...)
	}
	if len(list) > 0 {
		lists = append(lists, list)
	}
	return lists
}

// TakeList accepts what another leader's Hand has sent. The result points into list.
func (s *Shard) TakeList(list []byte) error {
	if len(list) < 16 {
		return errList
	}
	term, last := binary.LittleEndian.Uint64(list), binary.LittleEndian.Uint64(list[8:])
	bytes := len(list)
	var waits []Wait
	for list = list[16:]; len(list) > 0; {
		n, width := binary.Uvarint(list)
		if width <= 0 || n > uint64(len(list)-width) {
			return errList
		}
		wait, err := DecodeWait(list[width : width+int(n)])
		if err != nil {
			return err
		}
		waits = append(waits, wait)
		list = list[width+int(n):]
	}
	w := &s.waiters
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	if w.heir == nil || w.heir.last != last || w.heir.term != term {
		w.heir = &inheritance{last: last, term: term}
	}
	if w.heir.bytes += bytes; w.heir.bytes > listsBytesMax+listBytesMax || len(w.heir.waits)+len(waits) > waitersMax {
		w.heir = nil
		return errList
	}
	w.heir.came, w.heir.waits = time.Now(), append(w.heir.waits, waits...)
	return nil
}

// inherit takes over the list that this node was handed, if there is one and it is still
// valid in the term that this node leads.
func (w *waiters) inherit() {
	w.table.mu.Lock()
	heir := w.heir
	w.table.mu.Unlock()
	if heir == nil {
		return
	}
	term, holds, known := w.shard.group.transfer.beginsBehind(heir.term, heir.last)
	if !known {
		return
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	if w.heir != heir {
		return
	}
	w.heir = nil
	if !holds {
		return
	}
	w.beginTermLocked(term)
	road := roadSince(time.Now())
	var all []*waiter
	for i := range heir.waits {
		wait := &heir.waits[i]
		if w.table.byID[wait.ID] != nil {
			continue
		}
		if x := w.enterLocked(wait, road, nil); x != nil {
			x.known = true
			all = append(all, x)
		}
	}
	w.shard.work(func() {
		for _, x := range all {
			w.looker.look(x.keys, x)
		}
	})
}

// roadSince is the way to a gateway that was there at a time and has not been heard
// since.
type roadSince time.Time

// SilentFor implements Road.
func (r roadSince) SilentFor() time.Duration { return time.Since(time.Time(r)) }
