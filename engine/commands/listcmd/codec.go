package listcmd

import (
	"fmt"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/list"
	"lockstep/engine/rdb"
)

// Codecs say how lists are stored in snapshots, payloads and digests.
var Codecs = []command.Codec{{
	Kind:   engine.KindList,
	Types:  []byte{rdb.TypeList, rdb.TypeListZiplist, rdb.TypeListQuicklist, rdb.TypeListQuicklist2},
	TypeOf: listType,
	Write:  writeListValue,
	Read:   readListValue,
	// OBJ_LIST
	RedisKind: 1,
	Mix: func(d *command.Digest, e *engine.Entry) {
		for _, text := range e.Object().(*list.List).From(0) {
			d.Mix(text)
		}
	},
}}

// The nodes of a quicklist are a text or a listpack.
const (
	quicklistPlain  = 1
	quicklistPacked = 2
)

// listType is a quicklist of one listpack for a packed list. A large list is written element by
// element.
func listType(e *engine.Entry) byte {
	if e.Object().(*list.List).Packed() {
		return rdb.TypeListQuicklist2
	}
	return rdb.TypeList
}

func writeListValue(out *rdb.Value, e *engine.Entry) {
	l := e.Object().(*list.List)
	if l.Packed() {
		out.Length(1)
		out.Length(quicklistPacked)
		out.Blob(rdb.AppendListpack(nil, func(yield func([]byte) bool) {
			for _, text := range l.From(0) {
				if !yield(text) {
					return
				}
			}
		}))
		return
	}
	out.Length(uint64(l.Len()))
	for _, text := range l.From(0) {
		out.Text(text)
	}
}

// listReader builds a list, in the large form, from the elements that it reads.
type listReader struct {
	in     *rdb.Source
	limits *command.Settings
	list   *list.List
	// listpacks counts the listpacks and plain texts that were not empty.
	listpacks, plain int
}

func readListValue(in *rdb.Source, typ byte, key []byte, limits *command.Settings) (*engine.Entry, error) {
	r := &listReader{in: in, limits: limits, list: list.NewLarge()}
	nodes := uint64(1)
	if typ != rdb.TypeListZiplist {
		var err error
		if nodes, err = in.Length(); err != nil {
			return nil, err
		}
	}
	for ; nodes > 0; nodes-- {
		if err := r.node(typ); err != nil {
			return nil, err
		}
	}
	if r.list.Len() == 0 {
		return nil, fmt.Errorf("%w: an empty list", rdb.ErrFormat)
	}
	r.setForm(typ)
	return engine.NewObject(key, engine.KindList, r.list), nil
}

// node reads one node of a list of the type typ.
func (r *listReader) node(typ byte) error {
	container := uint64(quicklistPacked)
	switch typ {
	case rdb.TypeList:
		container = quicklistPlain
	case rdb.TypeListQuicklist2:
		var err error
		if container, err = r.in.Length(); err != nil {
			return err
		}
	}
	text, err := r.in.Text()
	if err != nil {
		return err
	}
	before := r.list.Len()
	ok := false
	switch {
	case container == quicklistPlain:
		ok = r.add(text)
	case container == quicklistPacked && typ == rdb.TypeListQuicklist2:
		ok = rdb.ReadListpack(text, r.add)
	case container == quicklistPacked:
		ok = rdb.ReadZiplist(text, r.add)
	}
	if !ok {
		return fmt.Errorf("%w: a node of a list", rdb.ErrFormat)
	}
	if container == quicklistPlain {
		r.plain++
	} else if r.list.Len() > before {
		r.listpacks++
	}
	return nil
}

func (r *listReader) add(text []byte) bool {
	if r.limits != nil && int64(len(text)) > r.limits.ValueBytesMax {
		return false
	}
	r.list.PushBack(text)
	return true
}

// setForm gives the list its form. A list from a snapshot gets the form that its type names, a list
// from a payload the one that Redis would give it.
func (r *listReader) setForm(typ byte) {
	onePack := r.listpacks == 1 && r.plain == 0
	switch {
	case r.limits == nil && typ == rdb.TypeListQuicklist2 && onePack:
		r.list.Pack()
	case r.limits != nil && (onePack || typ == rdb.TypeList):
		r.list.Settle(list.Limit(r.limits.ListPackSize))
	}
}
