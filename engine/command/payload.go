package command

import (
	"lockstep/engine"
	"lockstep/engine/rdb"
)

// valueCodec is how the values of a kind stand in a payload.
type valueCodec struct {
	kind    engine.Kind
	rdbType byte
	append  func(dst []byte, e *engine.Entry) []byte
	// decode makes an entry of a whole body; false: it is none, or too long.
	decode func(key, body []byte, bytesMax int64) (*engine.Entry, bool)
}

// valueCodecs holds a row for each kind and RDB type; of several rows for a
// kind the first one writes.
var valueCodecs = []valueCodec{
	{engine.KindString, rdb.TypeString, appendStringValue, decodeStringValue},
}

func appendStringValue(dst []byte, e *engine.Entry) []byte { return rdb.AppendText(dst, e.Text()) }

func decodeStringValue(key, body []byte, bytesMax int64) (*engine.Entry, bool) {
	text, rest, ok := rdb.ReadText(body, bytesMax)
	if !ok || len(rest) != 0 {
		return nil, false
	}
	return engine.NewString(key, text), true
}

// appendPayload appends an entry's payload; false: its kind has no codec.
func appendPayload(dst []byte, e *engine.Entry) ([]byte, bool) {
	for i := range valueCodecs {
		if codec := &valueCodecs[i]; codec.kind == e.Kind() {
			begin := len(dst)
			return rdb.AppendFooter(codec.append(append(dst, codec.rdbType), e), begin), true
		}
	}
	return dst, false
}

// decodeValue makes an entry of what rdb.OpenPayload returned.
func decodeValue(key []byte, rdbType byte, body []byte, bytesMax int64) (*engine.Entry, bool) {
	for i := range valueCodecs {
		if valueCodecs[i].rdbType == rdbType {
			return valueCodecs[i].decode(key, body, bytesMax)
		}
	}
	return nil, false
}
