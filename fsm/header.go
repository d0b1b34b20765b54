package fsm

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"lockstep/engine"
	"lockstep/engine/command"
)

// header is the part of a snapshot for which Redis has no format: the log position,
// and the state besides the keys. It is stored in one auxiliary field of the RDB
// file.
type header struct {
	index   uint64
	txnNo   uint64
	stampMs int64
	// dayOffsetMs is how far the time of day is ahead of stampMs. The expiries of the keys that follow are log times.
	// Only a snapshot for other programs (PersistKeys) has times of day.
	dayOffsetMs int64
	engine      engine.Config
	// settings are the replicated limits.
	settings command.Settings
	swapped  [engine.Databases]uint64
	origins  []originImage
	// done and told are those of the backlog.
	done, told []Told
}

// originImage is one gateway's part of the duplicate table.
type originImage struct {
	node, boot, usedAt uint64
	lanes              []laneImage
	waits              []waitImage
}

type laneImage struct {
	lane    uint32
	base    uint64
	records []*dupRecord
}

// headerVersion is raised when the encoding changes. Other versions are refused.
const headerVersion = 1

// images copies the table. The records are shared: those of txns that have run
// never change.
func (d *dupTable) images() []originImage {
	images := make([]originImage, 0, len(d.origins))
	for _, node := range d.sortedNodes() {
		o := d.origins[node]
		image := originImage{node: node, boot: o.boot, usedAt: o.usedAt, waits: o.waitImages()}
		for i, l := range o.lanes {
			if l != nil {
				image.lanes = append(image.lanes, laneImage{uint32(i), l.base, append([]*dupRecord(nil), l.records...)})
			}
		}
		images = append(images, image)
	}
	return images
}

func dupTableOf(images []originImage) *dupTable {
	d := newDupTable()
	for _, image := range images {
		o := &dupOrigin{boot: image.boot, usedAt: image.usedAt}
		for _, l := range image.lanes {
			o.lanes[l.lane] = &dupLane{origin: o, base: l.base, records: l.records}
			o.held += seen(l.records)
		}
		o.restoreWaits(image.waits)
		d.origins[image.node] = o
	}
	return d
}

func (h *header) append(dst []byte) []byte {
	dst = append(dst, headerVersion)
	for _, v := range []uint64{h.index, h.txnNo, uint64(h.stampMs), uint64(h.engine.LockSlots)} {
		dst = binary.AppendUvarint(dst, v)
	}
	dst = binary.AppendVarint(dst, h.dayOffsetMs)
	dst = append(dst, h.engine.Seed[:]...)
	dst = appendSettings(dst, &h.settings)
	for _, v := range h.swapped {
		dst = binary.AppendUvarint(dst, v)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.origins)))
	for i := range h.origins {
		dst = h.origins[i].append(dst)
	}
	dst = appendTold(appendTold(dst, h.done), h.told)
	return dst
}

// appendSettings writes the settings by name, so that a version with other settings
// detects the difference.
func appendSettings(dst []byte, s *command.Settings) []byte {
	n := uint64(0)
	s.Each(func(string, int64) { n++ })
	dst = binary.AppendUvarint(dst, n)
	s.Each(func(name string, value int64) { dst = binary.AppendVarint(appendText(dst, []byte(name)), value) })
	return dst
}

// decodeSettings reads what appendSettings wrote. It fails at an unknown setting,
// because a replica that ignored it would differ.
func decodeSettings(d *decoder, s *command.Settings) {
	for range d.count() {
		name := string(d.text())
		if value := d.varint(); d.failed || !s.Set(name, strconv.FormatInt(value, 10)) {
			d.fail()
			return
		}
	}
}

func (o *originImage) append(dst []byte) []byte {
	for _, v := range []uint64{o.node, o.boot, o.usedAt, uint64(len(o.lanes))} {
		dst = binary.AppendUvarint(dst, v)
	}
	for _, l := range o.lanes {
		dst = binary.AppendUvarint(dst, uint64(l.lane))
		dst = binary.AppendUvarint(dst, l.base)
		dst = binary.AppendUvarint(dst, uint64(len(l.records)))
		for _, r := range l.records {
			dst = r.append(dst)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(o.waits)))
	for i := range o.waits {
		dst = o.waits[i].append(dst)
	}
	return dst
}

// States of a record in a snapshot. Every txn of the log up to the snapshot has
// run, so none is open.
const (
	recordUnseen = iota
	recordLost
	recordKept
	recordGone
	recordUnserved
	recordRefused
)

func (r *dupRecord) append(dst []byte) []byte {
	switch {
	case r == nil:
		return append(dst, recordUnseen)
	case r.lost:
		return append(dst, recordLost)
	case r.gone:
		return append(dst, recordGone)
	case r.unserved:
		return append(dst, recordUnserved)
	case r.refused:
		return append(dst, recordRefused)
	}
	return appendText(append(dst, recordKept), r.reply)
}

// decodeHeader reads what append wrote.
func decodeHeader(data []byte) (header, error) {
	d := decoder{rest: data}
	if version := d.u8(); version != headerVersion {
		return header{}, fmt.Errorf("%w: snapshot header %d", ErrVersion, version)
	}
	h := header{index: d.uvarint(), txnNo: d.uvarint(), stampMs: int64(d.uvarint())}
	h.engine.LockSlots = int(d.uvarint())
	h.dayOffsetMs = d.varint()
	if len(d.rest) >= len(h.engine.Seed) {
		d.rest = d.rest[copy(h.engine.Seed[:], d.rest):]
	} else {
		d.fail()
	}
	h.settings = command.DefaultSettings
	decodeSettings(&d, &h.settings)
	for i := range h.swapped {
		h.swapped[i] = d.uvarint()
	}
	h.origins = make([]originImage, d.count())
	for i := range h.origins {
		h.origins[i].decode(&d)
	}
	if len(d.rest) > 0 {
		h.done, h.told = d.told(), d.told()
	}
	if d.failed || len(d.rest) != 0 || !h.engine.Possible() || !dayPossible(h.dayOffsetMs) {
		return header{}, fmt.Errorf("%w: snapshot header", ErrCorrupt)
	}
	return h, nil
}

func (o *originImage) decode(d *decoder) {
	o.node, o.boot, o.usedAt = d.uvarint(), d.uvarint(), d.uvarint()
	o.lanes = make([]laneImage, d.count())
	for i := range o.lanes {
		l := &o.lanes[i]
		l.lane, l.base = uint32(d.uvarint()), d.uvarint()
		if l.lane >= Lanes {
			d.fail()
			return
		}
		l.records = make([]*dupRecord, d.count())
		for j := range l.records {
			l.records[j] = decodeRecord(d)
		}
	}
	o.waits = make([]waitImage, d.count())
	for i := range o.waits {
		o.waits[i].decode(d)
	}
}

func decodeRecord(d *decoder) *dupRecord {
	switch d.u8() {
	case recordUnseen:
		return nil
	case recordLost:
		return &dupRecord{done: true, lost: true}
	case recordGone:
		return &dupRecord{done: true, gone: true}
	case recordUnserved:
		return &dupRecord{done: true, unserved: true}
	case recordRefused:
		return &dupRecord{done: true, refused: true}
	case recordKept:
		return &dupRecord{done: true, reply: append([]byte(nil), d.text()...)}
	}
	d.fail()
	return nil
}
