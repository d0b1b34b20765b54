package backup

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"lockstep/engine"
	"lockstep/engine/commands/values"
	"lockstep/engine/hash"
	"lockstep/engine/list"
	"lockstep/engine/set"
	"lockstep/engine/stream"
	"lockstep/engine/zset"
)

// pieceStep is how much of a large value one command carries.
const pieceStep = 1 << 20

// pieces collects the arguments of commands that build a large value.
type pieces struct {
	ctx   context.Context
	pipe  redis.Pipeliner
	head  []any
	args  []any
	bytes int
}

func (p *pieces) add(texts ...[]byte) {
	for _, t := range texts {
		p.args = append(p.args, string(t))
		p.bytes += len(t)
	}
	if p.bytes > pieceStep {
		p.flush()
	}
}

func (p *pieces) flush() {
	if len(p.args) > 0 {
		p.pipe.Do(p.ctx, append(append([]any{}, p.head...), p.args...)...)
	}
	p.args, p.bytes = nil, 0
}

// appendPieces adds to a pipeline the commands that build a value which is too large for
// one command. They begin with DEL, so that all of them may run again. Until the last has
// run, clients see a part of the value.
func appendPieces(ctx context.Context, pipe redis.Pipeliner, k *restored) error {
	p := &pieces{ctx: ctx, pipe: pipe}
	pipe.Do(ctx, "DEL", k.key)
	switch e := k.entry; e.Kind() {
	case engine.KindString:
		p.head = []any{"APPEND", k.key}
		for text := e.Text(); len(text) > 0; text = text[min(pieceStep, len(text)):] {
			p.args = []any{string(text[:min(pieceStep, len(text))])}
			p.flush()
		}
	case engine.KindList:
		p.head = []any{"RPUSH", k.key}
		for _, text := range e.Object().(*list.List).From(0) {
			p.add(text)
		}
	case engine.KindSet:
		p.head = []any{"SADD", k.key}
		for member := range e.Object().(*set.Set).All() {
			p.add(member)
		}
	case engine.KindSortedSet:
		p.head = []any{"ZADD", k.key}
		for _, m := range e.Object().(*zset.Set).From(0) {
			p.add(strconv.AppendFloat(nil, m.Score, 'g', 17, 64), m.Member)
		}
	case engine.KindHash:
		if err := appendHash(p, k); err != nil {
			return err
		}
	case engine.KindStream:
		if err := appendStream(p, k); err != nil {
			return err
		}
	default:
		return fmt.Errorf("key %.60q is a %s larger than %d MB: it cannot be brought in pieces", k.key, e.Kind(), pieceBytes>>20)
	}
	p.flush()
	if k.atMs != 0 {
		pipe.Do(ctx, "PEXPIREAT", k.key, k.atMs)
	}
	return nil
}

// groupsBytesMax is the most bytes for the groups of a stream, which one command carries.
const groupsBytesMax = 48 << 20

// appendStream adds the groups with their pending entries, then the entries, and last the
// other state of the stream.
func appendStream(p *pieces, k *restored) error {
	s := k.entry.Object().(*stream.Stream)
	groups := values.AppendPayload(nil, engine.NewObject([]byte(k.key), engine.KindStream, s.WithoutEntries()))
	if len(groups) > groupsBytesMax {
		return fmt.Errorf("key %.60q is a stream whose groups alone are larger than %d MB: it cannot be brought in pieces", k.key, groupsBytesMax>>20)
	}
	p.pipe.Do(p.ctx, "RESTORE", k.key, 0, string(groups))
	s.Range(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
		p.head = []any{"XADD", k.key, e.ID.String()}
		e.Fields(func(name, value []byte) { p.args = append(p.args, string(name), string(value)) })
		p.flush()
		return true
	})
	p.pipe.Do(p.ctx, "XSETID", k.key, s.State.Last.String(), "ENTRIESADDED", s.State.Added, "MAXDELETEDID", s.State.MaxDeleted.String())
	return nil
}

func appendHash(p *pieces, k *restored) error {
	p.head = []any{"HSET", k.key}
	for f := range k.entry.Object().(*hash.Hash).All() {
		p.add(f.Name, f.Value)
		if f.ExpireAtMs != 0 {
			p.flush()
			p.pipe.Do(p.ctx, "HPEXPIREAT", k.key, f.ExpireAtMs, "FIELDS", 1, string(f.Name))
		}
	}
	return nil
}
