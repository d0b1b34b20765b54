package command

import (
	"lockstep/engine"
	"lockstep/engine/rdb"
)

var stringCodecs = []valueCodec{{
	kind: engine.KindString, types: []byte{rdb.TypeString},
	typeOf: func(*engine.Entry) byte { return rdb.TypeString },
	write:  func(out *rdb.Value, e *engine.Entry) { out.Text(e.Text()) },
	read:   readStringValue,
	mix:    func(d *digest, e *engine.Entry) { d.mix(e.Text()) },
}}

func readStringValue(in *rdb.Source, _ byte, key []byte, limits *Settings) (*engine.Entry, error) {
	text, err := in.Text()
	if err != nil {
		return nil, err
	}
	if limits != nil && int64(len(text)) > limits.ValueBytesMax {
		return nil, errTooLong
	}
	return engine.NewString(key, text), nil
}
