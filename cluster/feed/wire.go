package feed

import (
	"encoding/binary"
	"errors"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// Kind is the request kind of a gateway to a source. A request is the operation u8, then for
// opOpen: shard, event classes, the gateway's node, 1 if only the shard's leader may serve it,
// index up to which the gateway has keyspace events; for opPoll: subscription, number of the last batch
// that arrived; for opClose: subscription. All are uv.
//
// An answer is a status u8, then for opOpen: subscription, position; for opPoll: number of the batch,
// position, the index up to which everything has been reported (0 if unknown), 1 if the source leads,
// items. An empty batch has the number of the batch before.
const Kind uint8 = 48

const (
	opOpen uint8 = iota + 1
	opPoll
	opClose
)

// Status of an answer.
const (
	statusDone uint8 = iota
	// statusRefused: this node is not a source for the shard at the moment.
	statusRefused
	// statusGone: there is no such subscription, or no longer.
	statusGone
)

// Items of a batch: kind u8, then the fields of the kind. Byte strings follow their length uv.
const (
	// itemEvent: class, db, event, key.
	itemEvent uint8 = iota + 1
	// itemOwn: a txn of the gateway itself: boot, lane, seq, keys.
	itemOwn
	// itemChanged: keys. Each stands behind its length plus keyFirst.
	itemChanged
)

// These stand in place of a key's length.
const (
	keysEnd = iota
	keyAll
	keyFirst
)

// itemKeysBytes is the length of keys at which the keys of a txn continue in another item.
const itemKeysBytes = 32 << 10

var errNonsense = errors.New("feed: a message makes no sense")

// open is opOpen.
type open struct {
	shard uint64
	want  Want
	node  uint64
	// leads is true if only the shard's leader will do.
	leads bool
	// from is the index up to which the gateway has keyspace events.
	from uint64
}

// Want says what a feed reports: keyspace events of these classes or, with no class, the
// names of all keys that change.
type Want struct{ Events command.EventClass }

func (o *open) append(dst []byte) []byte {
	leads := uint64(0)
	if o.leads {
		leads = 1
	}
	return appendAll(append(dst, opOpen), o.shard, uint64(o.want.Events), o.node, leads, o.from)
}

func appendAll(dst []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func appendBytes[T string | []byte](dst []byte, b T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func appendEvent(dst []byte, class command.EventClass, event string, db int, key []byte) []byte {
	dst = appendAll(append(dst, itemEvent), uint64(class), uint64(db))
	return appendBytes(appendBytes(dst, event), key)
}

// appendChanged adds as many of the keys as one item holds, and returns the others.
func appendChanged(dst []byte, own *fsm.TxnID, keys [][]byte) ([]byte, [][]byte) {
	if own != nil {
		dst = appendAll(append(dst, itemOwn), own.Boot, uint64(own.Lane), own.Seq)
	} else {
		dst = append(dst, itemChanged)
	}
	size := 0
	for len(keys) > 0 && size < itemKeysBytes {
		key := keys[0]
		keys = keys[1:]
		size += len(key) + 1
		if key == nil {
			dst = append(dst, keyAll)
			continue
		}
		dst = append(binary.AppendUvarint(dst, uint64(len(key))+keyFirst), key...)
	}
	return append(dst, keysEnd), keys
}

// scanner reads a message. After the first error it is bad, and returns zeros.
type scanner struct {
	b   []byte
	bad bool
}

func (s *scanner) byte() uint8 {
	if len(s.b) == 0 {
		s.bad = true
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

func (s *scanner) number() uint64 {
	n, width := binary.Uvarint(s.b)
	if width <= 0 {
		s.bad, s.b = true, nil
		return 0
	}
	s.b = s.b[width:]
	return n
}

func (s *scanner) take(n uint64) []byte {
	if n > uint64(len(s.b)) {
		s.bad, s.b = true, nil
		return nil
	}
	part := s.b[:n:n]
	s.b = s.b[n:]
	return part
}

func (s *scanner) bytes() []byte { return s.take(s.number()) }

// keys are the keys of an item. A nil key stands for all keys; an empty key that is not
// nil is the key with the empty name.
func (s *scanner) keys() [][]byte {
	var keys [][]byte
	for !s.bad {
		switch n := s.number(); {
		case s.bad:
		case n == keysEnd:
			return keys
		case n == keyAll:
			keys = append(keys, nil)
		default:
			keys = append(keys, s.take(n-keyFirst))
		}
	}
	return nil
}

// itemReceiver receives the items of a batch.
type itemReceiver interface {
	event(class command.EventClass, event string, db int, key []byte)
	// changed reports a txn and the keys that it changed. by is the txn's identity without
	// the node, which is the gateway's own; it is empty for txns of other gateways.
	changed(by fsm.TxnID, keys [][]byte)
}

// scanItems passes the items of a batch to h.
func scanItems(b []byte, h itemReceiver) error {
	s := scanner{b: b}
	for len(s.b) > 0 && !s.bad {
		switch s.byte() {
		case itemEvent:
			class, db := command.EventClass(s.number()), s.number()
			event, key := s.bytes(), s.bytes()
			if !s.bad {
				h.event(class, string(event), int(db), key)
			}
		case itemOwn:
			boot, lane, seq := s.number(), s.number(), s.number()
			if keys := s.keys(); !s.bad {
				h.changed(fsm.TxnID{Origin: fsm.Origin{Boot: boot, Lane: uint32(lane)}, Seq: seq}, keys)
			}
		case itemChanged:
			if keys := s.keys(); !s.bad {
				h.changed(fsm.TxnID{}, keys)
			}
		default:
			s.bad = true
		}
	}
	if s.bad {
		return errNonsense
	}
	return nil
}
