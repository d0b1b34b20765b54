package hashcmd

import (
	"encoding/binary"
	"iter"
	"strconv"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hash"
	"lockstep/engine/rdb"
)

// Codecs say how hashes are stored in snapshots, payloads and digests.
var Codecs = []command.Codec{{
	Kind: engine.KindHash,
	Types: []byte{
		rdb.TypeHash, rdb.TypeHashZipmap, rdb.TypeHashZiplist, rdb.TypeHashListpack,
		rdb.TypeHashMetadata, rdb.TypeHashListpackExpiry,
	},
	TypeOf: hashType, Write: writeHashValue, Read: readHashValue,
	RedisKind: 4, Mix: mixHash,
}}

// hashType is the RDB type that describes exactly how the hash is stored in memory.
func hashType(e *engine.Entry) byte {
	switch h := e.Object().(*hash.Hash); {
	case h.Large() && h.Timed():
		return rdb.TypeHashMetadata
	case h.Large():
		return rdb.TypeHash
	case h.Timed():
		return rdb.TypeHashListpackExpiry
	}
	return rdb.TypeHashListpack
}

func writeHashValue(out *rdb.Value, e *engine.Entry) {
	h := e.Object().(*hash.Hash)
	first := h.FirstExpiryMs()
	if h.Timed() {
		out.Raw(binary.LittleEndian.AppendUint64(nil, uint64(minExpiry(fieldTime(out, first)))))
	}
	if !h.Large() {
		out.Blob(rdb.AppendListpack(nil, listpackItems(out, h)))
		return
	}
	out.Length(uint64(h.Len()))
	for f := range h.All() {
		if h.Timed() {
			// Times count from one millisecond before the first expiry.
			since := uint64(0)
			if f.ExpireAtMs != 0 {
				since = uint64(fieldTime(out, f.ExpireAtMs)-fieldTime(out, first)) + 1
			}
			out.Length(since)
		}
		out.Text(f.Name)
		out.Text(f.Value)
	}
}

// noExpiry is what Redis writes as the first expiry if no field of the hash has one any more.
const noExpiry = 1<<48 - 1

// fieldTime is the expiry of a field as it is written.
func fieldTime(out *rdb.Value, ms int64) int64 { return min(out.Time(ms), noExpiry-1) }

func minExpiry(firstMs int64) int64 {
	if firstMs == 0 {
		return noExpiry
	}
	return firstMs
}

// listpackItems are the items in the listpack of a small hash: fields, values and, if the hash is
// timed, expiries. 0 means no expiry.
func listpackItems(out *rdb.Value, h *hash.Hash) iter.Seq[[]byte] {
	timed := h.Timed()
	return func(yield func([]byte) bool) {
		var buf [20]byte
		for f := range h.All() {
			if !yield(f.Name) || !yield(f.Value) {
				return
			}
			if timed && !yield(strconv.AppendInt(buf[:0], fieldTime(out, f.ExpireAtMs), 10)) {
				return
			}
		}
	}
}

// mixHash adds the fields as a set.
func mixHash(d *command.Digest, e *engine.Entry) {
	for f := range e.Object().(*hash.Hash).All() {
		var element command.Digest
		element.Mix(f.Name)
		element.Mix(f.Value)
		if f.ExpireAtMs != 0 {
			element.Xor([]byte("!!hexpire!!"))
		}
		d.Xor(element[:])
	}
}

func readHashValue(in *rdb.Source, typ byte, key []byte, limits *command.Settings) (*engine.Entry, error) {
	// Without limits every hash of the plain types is read as a large one.
	h, keep := hash.NewLarge(), hash.Limits{}
	if limits != nil {
		h, keep = hash.New(), hash.Limits{EntriesMax: limits.HashPackEntriesMax, ValueBytesMax: limits.HashPackValueBytesMax}
	}
	var err error
	switch typ {
	case rdb.TypeHash, rdb.TypeHashMetadata:
		err = readPlainHash(in, typ == rdb.TypeHashMetadata, h, keep)
	default:
		if h, err = readSmallHash(in, typ); err == nil && limits != nil {
			h.Fit(keep)
			if typ == rdb.TypeHashZipmap || typ == rdb.TypeHashListpackExpiry {
				h.FitTexts(keep)
			}
		}
	}
	if err == nil && h.Len() == 0 {
		err = rdb.ErrFormat
	}
	if err != nil {
		return nil, err
	}
	return engine.NewObject(key, engine.KindHash, h), nil
}

// readPlainHash reads the fields one by one.
func readPlainHash(in *rdb.Source, timed bool, h *hash.Hash, keep hash.Limits) error {
	first := int64(0)
	if timed {
		var err error
		if first, err = readMinExpiry(in); err != nil {
			return err
		}
	}
	n, err := in.Length()
	if err != nil {
		return err
	}
	if n > uint64(max(keep.EntriesMax, 0)) && !h.Large() {
		*h = *hash.NewLarge()
	}
	for ; n > 0; n-- {
		f, err := readField(in, timed, first)
		if err != nil {
			return err
		}
		if !h.Set(f, keep) {
			return rdb.ErrFormat // the field comes twice
		}
	}
	return nil
}

// readField reads a field, with its expiry if it is timed, counted from first.
func readField(in *rdb.Source, timed bool, first int64) (f hash.Field, err error) {
	if timed {
		since, err := in.Length()
		if err != nil {
			return f, err
		}
		if since > noExpiry {
			return f, rdb.ErrFormat
		}
		if since > 0 {
			f.ExpireAtMs = first + int64(since) - 1
		}
		if f.ExpireAtMs < 0 || f.ExpireAtMs >= noExpiry {
			return f, rdb.ErrFormat
		}
		if f.ExpireAtMs = in.Time(f.ExpireAtMs); f.ExpireAtMs >= noExpiry {
			return f, rdb.ErrFormat
		}
	}
	name, err := in.Text()
	if err != nil {
		return f, err
	}
	f.Name = append([]byte(nil), name...) // in.Text is valid until the next read
	f.Value, err = in.Text()
	return f, err
}

func readMinExpiry(in *rdb.Source) (int64, error) {
	b, err := in.Bytes(8)
	if err != nil {
		return 0, err
	}
	at := binary.LittleEndian.Uint64(b)
	if at > noExpiry {
		return 0, rdb.ErrFormat
	}
	return int64(at), nil
}

// readSmallHash reads a hash that is one blob.
func readSmallHash(in *rdb.Source, typ byte) (*hash.Hash, error) {
	timed := typ == rdb.TypeHashListpackExpiry
	if timed {
		if _, err := readMinExpiry(in); err != nil {
			return nil, err
		}
	}
	blob, err := in.Text()
	if err != nil {
		return nil, err
	}
	read := rdb.ReadListpack
	switch typ {
	case rdb.TypeHashZipmap:
		read = rdb.ReadZipmap
	case rdb.TypeHashZiplist:
		read = rdb.ReadZiplist
	}
	fields := fieldReader{timed: timed, time: in.Time, seen: map[string]struct{}{}}
	if !read(blob, fields.addPart) || fields.at != 0 {
		return nil, rdb.ErrFormat
	}
	return hash.NewSmall(fields.all, timed), nil
}

// fieldReader collects the items of a blob.
type fieldReader struct {
	timed bool
	// time converts an expiry from the blob to the one that is kept.
	time func(ms int64) int64
	all  []hash.Field
	// seen are the names so far. A blob that repeats one name compresses to almost nothing, so
	// reading must end at the first repetition, before all of the blob is collected.
	seen map[string]struct{}
	// at is the part of the last field that comes next. 0 starts a new field.
	at int
}

func (r *fieldReader) addPart(item []byte) bool {
	parts := 2
	if r.timed {
		parts = 3
	}
	if r.at == 0 {
		r.all = append(r.all, hash.Field{})
	}
	f := &r.all[len(r.all)-1]
	switch r.at {
	case 0:
		if _, twice := r.seen[string(item)]; twice {
			return false
		}
		r.seen[string(item)] = struct{}{}
		f.Name = append([]byte(nil), item...)
	case 1:
		f.Value = append([]byte(nil), item...)
	case 2:
		at, ok := command.ParseInt(item)
		if !ok || at < 0 || at >= noExpiry {
			return false
		}
		if f.ExpireAtMs = r.time(at); f.ExpireAtMs >= noExpiry {
			return false
		}
	}
	r.at = (r.at + 1) % parts
	return true
}
