// Package values puts the codecs of all kinds together: how the value of a key stands in snapshots,
// in the payload of DUMP and RESTORE, and in digests.
//
// Each kind has its codec beside its commands (command.Codec). This package picks the codec by the
// kind of an entry or by an RDB type, so that a snapshot, a backup, DUMP and MIGRATE write the same
// bytes. It stands above the rooms of the kinds and below keycmd.
package values

import (
	"fmt"
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/hashcmd"
	"lockstep/engine/commands/listcmd"
	"lockstep/engine/commands/setcmd"
	"lockstep/engine/commands/streamcmd"
	"lockstep/engine/commands/stringcmd"
	"lockstep/engine/commands/zsetcmd"
	"lockstep/engine/rdb"
	"lockstep/engine/stream"
)

// valueCodecs holds a row for each kind.
var valueCodecs = slices.Concat(stringcmd.Codecs, listcmd.Codecs, hashcmd.Codecs, setcmd.Codecs, zsetcmd.Codecs, streamcmd.Codecs)

// CodecOf is the codec of a kind. Every kind has one.
func CodecOf(kind engine.Kind) *command.Codec {
	for i := range valueCodecs {
		if valueCodecs[i].Kind == kind {
			return &valueCodecs[i]
		}
	}
	panic("values: no codec for " + kind.String())
}

// WriteEntry writes a key and its value into a file.
func WriteEntry(out *rdb.Writer, e *engine.Entry) {
	codec := CodecOf(e.Kind())
	value := out.Key(e.KeyBytes(), e.ExpireAtMs, codec.TypeOf(e))
	codec.Write(value, e)
	value.End()
}

// ReadValue reads the value of a key, of an RDB type, and returns an entry with both. If limits is
// nil the value keeps the form that its type names.
func ReadValue(in *rdb.Source, typ byte, key []byte, limits *command.Settings) (*engine.Entry, error) {
	for i := range valueCodecs {
		if slices.Contains(valueCodecs[i].Types, typ) {
			return valueCodecs[i].Read(in, typ, key, limits)
		}
	}
	return nil, fmt.Errorf("%w: %d, of key %.40q", rdb.ErrType, typ, key)
}

// Dump returns the payload of an entry and charges its work to the command.
func Dump(c *command.Ctx, e *engine.Entry) []byte {
	c.Did(command.WorkItem * command.WorkOne * streamLen(e))
	return writePayload(nil, e, c.DayOffsetMs, func(bytes int) {
		c.Item()
		c.Did(command.WorkPayloadByte * bytes)
	})
}

// AppendPayload appends the payload that DUMP answers for an entry.
func AppendPayload(dst []byte, e *engine.Entry) []byte { return writePayload(dst, e, 0, nil) }

// writePayload is AppendPayload with the offset of the times of day. It calls each for every text,
// unless each is nil.
func writePayload(dst []byte, e *engine.Entry, dayOffsetMs int64, each func(bytes int)) []byte {
	codec, begin := CodecOf(e.Kind()), len(dst)
	value := rdb.NewValue(append(dst, codec.TypeOf(e)))
	value.OnText(each)
	value.Offset(dayOffsetMs)
	codec.Write(value, e)
	return rdb.AppendFooter(value.Body(), begin)
}

// Restore makes an entry of what rdb.OpenPayload returned, and charges the work to the command.
func Restore(c *command.Ctx, typ byte, body, key []byte) (*engine.Entry, error) {
	in := rdb.NewSource(body)
	in.OnText(func(bytes int) {
		c.Worked(command.WorkUnpack)
		c.Did(command.WorkPayloadByte * bytes)
	})
	in.Offset(c.DayOffsetMs)
	e, err := readWhole(in, typ, key, c.Settings)
	if err == nil {
		c.Did(command.WorkStreamEntry * streamLen(e))
	}
	return e, err
}

// streamLen is the number of entries of a stream, many of which share one text. It is 0 for other
// values.
func streamLen(e *engine.Entry) int {
	if e.Kind() != engine.KindStream {
		return 0
	}
	return e.Object().(*stream.Stream).Len()
}

// ReadBody makes an entry of what rdb.OpenPayload returned.
func ReadBody(typ byte, body, key []byte, limits *command.Settings) (*engine.Entry, error) {
	return readWhole(rdb.NewSource(body), typ, key, limits)
}

// readWhole reads the one value of a source.
func readWhole(in *rdb.Source, typ byte, key []byte, limits *command.Settings) (*engine.Entry, error) {
	e, err := ReadValue(in, typ, key, limits)
	if err == nil && !in.Done() {
		err = rdb.ErrFormat
	}
	return e, err
}

// MixValue adds a key's value, and whether it expires.
func MixValue(d *command.Digest, e *engine.Entry) {
	codec := CodecOf(e.Kind())
	d.MixInt(codec.RedisKind)
	codec.Mix(d, e)
	if e.ExpireAtMs != 0 {
		d.Xor([]byte("!!expire!!"))
	}
}
