package fsm

import "encoding/binary"

// Behind is a KindServe that goes into the log behind a txn of a bundle.
type Behind struct {
	// Txn is the position of that txn in its bundle.
	Txn   int
	Serve *Txn
}

// AddServing appends an encoded bundle with KindServes between its txns. The serves are ordered by
// position. It does not check the bundle.
func (b *EntryBuilder) AddServing(bundle []byte, serves []Behind) {
	d := decoder{rest: bundle}
	id, acked := d.id(), d.uvarint()
	n := d.count()
	b.buf = binary.AppendUvarint(AppendTxnID(b.buf, id), acked)
	b.buf = binary.AppendUvarint(b.buf, uint64(n+len(serves)))
	var t Txn
	for i := range n {
		before := d.rest
		d.txn(&t)
		b.buf = append(b.buf, before[:len(before)-len(d.rest)]...)
		for len(serves) > 0 && serves[0].Txn == i {
			b.buf = appendTxn(b.buf, serves[0].Serve)
			serves = serves[1:]
		}
	}
	b.bundles++
}
