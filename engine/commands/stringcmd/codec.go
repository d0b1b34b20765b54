package stringcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
)

// Codecs say how strings are stored in snapshots, payloads and digests.
var Codecs = []command.Codec{{
	Kind: engine.KindString, Types: []byte{rdb.TypeString},
	TypeOf: func(*engine.Entry) byte { return rdb.TypeString },
	Write:  func(out *rdb.Value, e *engine.Entry) { out.Text(e.Text()) },
	Read:   readStringValue,
	Mix:    func(d *command.Digest, e *engine.Entry) { d.Mix(e.Text()) },
}}

func readStringValue(in *rdb.Source, _ byte, key []byte, limits *command.Settings) (*engine.Entry, error) {
	text, err := in.Text()
	if err != nil {
		return nil, err
	}
	if limits != nil && int64(len(text)) > limits.ValueBytesMax {
		return nil, command.ErrValueTooLong
	}
	return engine.NewString(key, text), nil
}
