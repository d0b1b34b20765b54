package streamcmd

import (
	"encoding/binary"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
	"lockstep/engine/stream"
)

// Codecs say how streams are stored in snapshots, payloads and digests.
var Codecs = []command.Codec{{
	Kind:   engine.KindStream,
	Types:  []byte{rdb.TypeStreamListpacks, rdb.TypeStreamListpacks2, rdb.TypeStreamListpacks3},
	TypeOf: streamType,
	Write: func(out *rdb.Value, e *engine.Entry) {
		writeStreamValue(out, e.Object().(*stream.Stream), streamType(e))
	},
	Read:      readStreamValue,
	RedisKind: 6,
	Mix:       mixStream,
}}

// streamType is the type of Redis 7.0 if that loses nothing. A reader of that type assumes that
// consumers were last active when they were last seen.
func streamType(e *engine.Entry) byte {
	typ := byte(rdb.TypeStreamListpacks2)
	for _, g := range e.Object().(*stream.Stream).Groups.All() {
		g.EachConsumer(func(_ int, c *stream.Consumer) {
			if c.ActiveMs() != c.SeenMs() {
				typ = rdb.TypeStreamListpacks3
			}
		})
	}
	return typ
}

func mixStream(d *command.Digest, e *engine.Entry) {
	var buf [48]byte
	e.Object().(*stream.Stream).Range(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
		id := e.ID.AppendText(buf[:0])
		for i := range id {
			if id[i] == '-' {
				id[i] = '.'
			}
		}
		d.Mix(id)
		e.Fields(func(name, value []byte) {
			d.Mix(name)
			d.Mix(value)
		})
		return true
	})
}

func writeStreamValue(out *rdb.Value, s *stream.Stream, typ byte) {
	var key [stream.IDBytes]byte
	out.Length(uint64(s.Nodes()))
	s.EachNode(func(id stream.ID, listpack []byte) bool {
		out.Blob(id.AppendKey(key[:0]))
		out.Blob(listpack)
		return true
	})
	out.Length(uint64(s.Len()))
	writeStreamID(out, s.State.Last)
	writeStreamID(out, s.State.First)
	writeStreamID(out, s.State.MaxDeleted)
	out.Length(s.State.Added)
	out.Length(uint64(len(s.Groups.All())))
	for _, g := range s.Groups.All() {
		writeGroup(out, g, typ)
	}
}

func writeStreamID(out *rdb.Value, id stream.ID) {
	out.Length(id.Ms)
	out.Length(id.Seq)
}

func writeGroup(out *rdb.Value, g *stream.Group, typ byte) {
	var buf [stream.IDBytes + 8]byte
	out.Text([]byte(g.Name()))
	writeStreamID(out, g.Last())
	out.Length(uint64(g.EntriesRead()))
	out.Length(uint64(g.Pending()))
	g.PendingFrom(stream.ID{}, func(p stream.Pending) bool {
		out.Raw(binary.LittleEndian.AppendUint64(p.ID.AppendKey(buf[:0]), uint64(out.Time(p.DeliveredMs))))
		out.Length(p.Deliveries)
		return true
	})
	out.Length(uint64(g.Consumers()))
	g.EachConsumer(func(no int, c *stream.Consumer) {
		out.Text([]byte(c.Name()))
		out.Raw(binary.LittleEndian.AppendUint64(buf[:0], uint64(out.Time(c.SeenMs()))))
		if typ == rdb.TypeStreamListpacks3 {
			out.Raw(binary.LittleEndian.AppendUint64(buf[:0], uint64(out.Time(c.ActiveMs()))))
		}
		out.Length(uint64(c.Pending()))
		g.PendingOf(no, stream.ID{}, func(p stream.Pending) bool {
			out.Raw(p.ID.AppendKey(buf[:0]))
			return true
		})
	})
}

func readStreamValue(in *rdb.Source, typ byte, key []byte, _ *command.Settings) (*engine.Entry, error) {
	r := streamReader{in: in, typ: typ, s: stream.New()}
	r.nodes()
	r.state()
	for n := r.length(); n > 0 && r.err == nil; n-- {
		r.group()
	}
	if r.err == nil {
		r.err = r.s.Groups.Loaded()
	}
	if r.err != nil {
		return nil, r.err
	}
	return engine.NewObject(key, engine.KindStream, r.s), nil
}

// streamReader reads a stream. After an error it reads nothing more.
type streamReader struct {
	in  *rdb.Source
	typ byte
	s   *stream.Stream
	err error
}

// fail keeps the first error.
func (r *streamReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *streamReader) length() (n uint64) {
	if r.err == nil {
		n, r.err = r.in.Length()
	}
	return n
}

// text reads a text and copies it.
func (r *streamReader) text() []byte {
	if r.err != nil {
		return nil
	}
	text, err := r.in.Text()
	r.err = err
	return append([]byte(nil), text...)
}

// raw reads n bytes. After an error it returns zeros.
func (r *streamReader) raw(n uint64) []byte {
	if r.err == nil {
		b, err := r.in.Bytes(n)
		if err == nil {
			return b
		}
		r.err = err
	}
	return make([]byte, n)
}

func (r *streamReader) id() stream.ID {
	ms := r.length()
	return stream.ID{Ms: ms, Seq: r.length()}
}

func (r *streamReader) timeMs() int64 { return r.in.Time(int64(binary.LittleEndian.Uint64(r.raw(8)))) }

func (r *streamReader) nodes() {
	for n := r.length(); n > 0 && r.err == nil; n-- {
		key := r.text()
		if r.err == nil && len(key) != stream.IDBytes {
			r.fail(stream.ErrBad)
		}
		if r.err != nil {
			return
		}
		add := r.s.AddNode
		if r.in.Trusted() {
			add = r.s.KeepNode
		}
		listpack, err := r.in.Text()
		if err == nil {
			err = add(stream.IDOf(key), listpack)
		}
		r.err = err
	}
}

func (r *streamReader) state() {
	length := r.length()
	r.s.State.Last = r.id()
	if r.typ == rdb.TypeStreamListpacks {
		r.s.GuessState()
	} else {
		r.s.State.First = r.id()
		r.s.State.MaxDeleted = r.id()
		r.s.State.Added = r.length()
	}
	if r.in.Trusted() {
		r.s.Keep(length)
	} else if err := r.s.Loaded(length); err != nil {
		r.fail(err)
	}
}

func (r *streamReader) group() {
	g := stream.GroupImage{Name: r.text(), Last: r.id()}
	if r.typ == rdb.TypeStreamListpacks {
		g.EntriesRead = r.s.EntriesUpTo(g.Last)
	} else {
		g.EntriesRead = int64(r.length())
	}
	for n := r.length(); n > 0 && r.err == nil; n-- {
		p := stream.Pending{ID: stream.IDOf(r.raw(stream.IDBytes))}
		p.DeliveredMs, p.Deliveries = r.timeMs(), r.length()
		g.Pending = append(g.Pending, p)
	}
	for n := r.length(); n > 0 && r.err == nil; n-- {
		g.Consumers = append(g.Consumers, r.consumer())
	}
	if r.err == nil {
		r.err = r.s.Groups.Load(&g)
	}
}

func (r *streamReader) consumer() stream.ConsumerImage {
	c := stream.ConsumerImage{Name: r.text(), SeenMs: r.timeMs()}
	c.ActiveMs = c.SeenMs
	if r.typ == rdb.TypeStreamListpacks3 {
		c.ActiveMs = r.timeMs()
	}
	for n := r.length(); n > 0 && r.err == nil; n-- {
		c.Pending = append(c.Pending, stream.IDOf(r.raw(stream.IDBytes)))
	}
	return c
}
