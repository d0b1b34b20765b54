package command

import (
	"fmt"
	"slices"

	"lockstep/engine"
	"lockstep/engine/rdb"
	"lockstep/engine/stream"
)

// valueCodecs holds a row for each kind.
var valueCodecs = slices.Concat(stringCodecs, listCodecs, hashCodecs, setCodecs, sortedSetCodecs, streamCodecs)

func codecOf(kind engine.Kind) *valueCodec {
	for i := range valueCodecs {
		if valueCodecs[i].kind == kind {
			return &valueCodecs[i]
		}
	}
	panic("command: no codec for " + kind.String())
}

// WriteEntry writes a key and its value into a file.
func WriteEntry(out *rdb.Writer, e *engine.Entry) {
	codec := codecOf(e.Kind())
	value := out.Key(e.KeyBytes(), e.ExpireAtMs, codec.typeOf(e))
	codec.write(value, e)
	value.End()
}

// ReadValue reads a key's value, of an RDB type, and makes an entry of both.
// With limits nil the value is kept as its type says.
func ReadValue(in *rdb.Source, typ byte, key []byte, limits *Settings) (*engine.Entry, error) {
	for i := range valueCodecs {
		if slices.Contains(valueCodecs[i].types, typ) {
			return valueCodecs[i].read(in, typ, key, limits)
		}
	}
	return nil, fmt.Errorf("%w: %d, of key %.40q", rdb.ErrType, typ, key)
}

// payload is an entry's payload, for a command.
func (c *Ctx) payload(e *engine.Entry) []byte {
	c.did(workItem * workOne * streamLen(e))
	return writePayload(nil, e, c.DayOffsetMs, func(bytes int) {
		c.item()
		c.did(workPayloadByte * bytes)
	})
}

// AppendPayload appends the payload that DUMP answers for an entry.
func AppendPayload(dst []byte, e *engine.Entry) []byte { return writePayload(dst, e, 0, nil) }

// writePayload is AppendPayload with times of day; each is called for each text, nil: nobody is.
func writePayload(dst []byte, e *engine.Entry, dayOffsetMs int64, each func(bytes int)) []byte {
	codec, begin := codecOf(e.Kind()), len(dst)
	value := rdb.NewValue(append(dst, codec.typeOf(e)))
	value.OnText(each)
	value.Offset(dayOffsetMs)
	codec.write(value, e)
	return rdb.AppendFooter(value.Body(), begin)
}

// readPayload makes an entry, for a command, of what rdb.OpenPayload returned.
func (c *Ctx) readPayload(typ byte, body, key []byte) (*engine.Entry, error) {
	in := rdb.NewSource(body)
	in.OnText(func(bytes int) {
		c.worked(workUnpack)
		c.did(workPayloadByte * bytes)
	})
	in.Offset(c.DayOffsetMs)
	e, err := readWhole(in, typ, key, c.Settings)
	if err == nil {
		c.did(workStreamEntry * streamLen(e))
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

// readPayload makes an entry of what rdb.OpenPayload returned.
func readPayload(typ byte, body, key []byte, limits *Settings) (*engine.Entry, error) {
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

// mixValue adds a key's value, and whether it expires.
func (d *digest) mixValue(e *engine.Entry) {
	codec := codecOf(e.Kind())
	d.mixInt(codec.redisKind)
	codec.mix(d, e)
	if e.ExpireAtMs != 0 {
		d.xor([]byte("!!expire!!"))
	}
}
