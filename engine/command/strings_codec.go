package command

import (
	"lockstep/engine"
	"lockstep/engine/rdb"
)

var StringCodecs = []Codec{{
	Kind: engine.KindString, Types: []byte{rdb.TypeString},
	TypeOf: func(*engine.Entry) byte { return rdb.TypeString },
	Write:  func(out *rdb.Value, e *engine.Entry) { out.Text(e.Text()) },
	Read:   readStringValue,
	Mix:    func(d *Digest, e *engine.Entry) { d.Mix(e.Text()) },
}}

func readStringValue(in *rdb.Source, _ byte, key []byte, limits *Settings) (*engine.Entry, error) {
	text, err := in.Text()
	if err != nil {
		return nil, err
	}
	if limits != nil && int64(len(text)) > limits.ValueBytesMax {
		return nil, ErrValueTooLong
	}
	return engine.NewString(key, text), nil
}
