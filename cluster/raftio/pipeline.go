package raftio

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// pipeline records the acknowledgements that come through a pipeline, and when the
// requests that they acknowledge were sent.
//
// It also keeps the pipeline from getting stuck (hashicorp/raft#612). The library reads
// answers up to the first that is not a success. Its sender may by then wait for room
// that only a reader makes: for ever, while heartbeats go on and no node notices that
// this follower gets no entries any more. So the pipeline itself reads and drops the
// answers behind such an answer.
type pipeline struct {
	raft.AppendPipeline
	id     raft.ServerID
	acks   *Acks
	hangs  func() bool
	out    chan raft.AppendFuture
	closed chan struct{}
	once   sync.Once

	mu sync.Mutex // guards sent
	// sent holds when the requests under way were sent, oldest first; answers
	// come in the same order. The library bounds their number.
	sent []time.Duration
}

func newPipeline(inner raft.AppendPipeline, id raft.ServerID, acks *Acks, hangs func() bool) *pipeline {
	p := &pipeline{AppendPipeline: inner, id: id, acks: acks, hangs: hangs, out: make(chan raft.AppendFuture), closed: make(chan struct{})}
	go p.relay()
	return p
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if p.hangs() {
		return nil, errHangs
	}
	trim(args)
	p.mu.Lock()
	p.sent = append(p.sent, Now())
	p.mu.Unlock()
	return p.AppendPipeline.AppendEntries(args, resp)
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.out }

// Close implements raft.AppendPipeline.
func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.AppendPipeline.Close()
}

func (p *pipeline) relay() {
	out := p.out
	for {
		var f raft.AppendFuture
		select {
		case f = <-p.AppendPipeline.Consumer():
		case <-p.closed:
			return
		}
		p.mu.Lock()
		sent := p.sent[0]
		p.sent = p.sent[1:]
		p.mu.Unlock()
		if resp := f.Response(); f.Error() == nil && judgeTerm(resp.Term, f.Request().Term) != nil {
			*resp = raft.AppendEntriesResponse{Term: f.Request().Term} // which is no success
		}
		if f.Error() == nil {
			p.acks.take(p.id, f.Request(), f.Response(), sent)
		}
		if out == nil {
			continue
		}
		select {
		case out <- f:
		case <-p.closed:
			return
		}
		if last(f) {
			out = nil
		}
	}
}

// last reports whether this is an answer after which the library reads no more. It looks
// only at the response, which is empty after an error, and so no success.
func last(f raft.AppendFuture) bool {
	return !f.Response().Success || f.Response().Term > f.Request().Term
}
