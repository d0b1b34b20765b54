package command

import (
	"fmt"
	"slices"

	"lockstep/engine"
	"lockstep/engine/rdb"
	"lockstep/engine/stream"
)

// valueCodecs holds a row for each kind.
var valueCodecs = slices.Concat(StringCodecs, ListCodecs, HashCodecs, SetCodecs, SortedSetCodecs, StreamCodecs)

func CodecOf(kind engine.Kind) *Codec {
	for i := range valueCodecs {
		if valueCodecs[i].Kind == kind {
			return &valueCodecs[i]
		}
	}
	panic("command: no codec for " + kind.String())
}

// WriteEntry writes a key and its value into a file.
func WriteEntry(out *rdb.Writer, e *engine.Entry) {
	codec := CodecOf(e.Kind())
	value := out.Key(e.KeyBytes(), e.ExpireAtMs, codec.TypeOf(e))
	codec.Write(value, e)
	value.End()
}

// ReadValue reads a key's value, of an RDB type, and makes an entry of both.
// With limits nil the value is kept as its type says.
func ReadValue(in *rdb.Source, typ byte, key []byte, limits *Settings) (*engine.Entry, error) {
	for i := range valueCodecs {
		if slices.Contains(valueCodecs[i].Types, typ) {
			return valueCodecs[i].Read(in, typ, key, limits)
		}
	}
	return nil, fmt.Errorf("%w: %d, of key %.40q", rdb.ErrType, typ, key)
}

// Dump is an entry's payload, for a command.
func (c *Ctx) Dump(e *engine.Entry) []byte {
	c.Did(WorkItem * WorkOne * streamLen(e))
	return writePayload(nil, e, c.DayOffsetMs, func(bytes int) {
		c.Item()
		c.Did(WorkPayloadByte * bytes)
	})
}

// AppendPayload appends the payload that DUMP answers for an entry.
func AppendPayload(dst []byte, e *engine.Entry) []byte { return writePayload(dst, e, 0, nil) }

// writePayload is AppendPayload with times of day; each is called for each text, nil: nobody is.
func writePayload(dst []byte, e *engine.Entry, dayOffsetMs int64, each func(bytes int)) []byte {
	codec, begin := CodecOf(e.Kind()), len(dst)
	value := rdb.NewValue(append(dst, codec.TypeOf(e)))
	value.OnText(each)
	value.Offset(dayOffsetMs)
	codec.Write(value, e)
	return rdb.AppendFooter(value.Body(), begin)
}

// Restore makes an entry, for a command, of what rdb.OpenPayload returned.
func (c *Ctx) Restore(typ byte, body, key []byte) (*engine.Entry, error) {
	in := rdb.NewSource(body)
	in.OnText(func(bytes int) {
		c.Worked(WorkUnpack)
		c.Did(WorkPayloadByte * bytes)
	})
	in.Offset(c.DayOffsetMs)
	e, err := readWhole(in, typ, key, c.Settings)
	if err == nil {
		c.Did(WorkStreamEntry * streamLen(e))
	}
	return e, err
}

// streamLen is the number of a stream's entries, many of which stand in one text; 0 for other values.
func streamLen(e *engine.Entry) int {
	if e.Kind() != engine.KindStream {
		return 0
	}
	return e.Object().(*stream.Stream).Len()
}

// ReadBody makes an entry of what rdb.OpenPayload returned.
func ReadBody(typ byte, body, key []byte, limits *Settings) (*engine.Entry, error) {
	return readWhole(rdb.NewSource(body), typ, key, limits)
}

// readWhole reads the one value of a source.
func readWhole(in *rdb.Source, typ byte, key []byte, limits *Settings) (*engine.Entry, error) {
	e, err := ReadValue(in, typ, key, limits)
	if err == nil && !in.Done() {
		err = rdb.ErrFormat
	}
	return e, err
}

// MixValue adds a key's value, and whether it expires.
func (d *Digest) MixValue(e *engine.Entry) {
	codec := CodecOf(e.Kind())
	d.MixInt(codec.RedisKind)
	codec.Mix(d, e)
	if e.ExpireAtMs != 0 {
		d.Xor([]byte("!!expire!!"))
	}
}
