package fsm

import (
	"lockstep/engine"
	"lockstep/engine/command"
)

// Origin names the gateway process that made a bundle, and one of its lanes.
// A lane is an independent row of sequence numbers, so that one slow txn holds
// up the forgetting of few others.
type Origin struct {
	// Node is the gateway's incarnation: random, made when its data folder was.
	// 0 stands for a leader that speaks for itself; such txns have no identity.
	Node uint64
	// Boot grows by one with every start of that gateway.
	Boot uint64
	Lane uint32
}

// TxnID names a txn for ever. A txn with a known id is never run twice: the
// duplicate table answers it.
type TxnID struct {
	Origin
	Seq uint64
}

// Op is one command of a txn.
type Op struct {
	DB int
	// Args holds the command's name, lower case, and its arguments. What is
	// decoded from a log entry points into the entry and must be copied to be
	// kept.
	Args [][]byte

	// spec is the command's row, once it was looked up.
	spec *command.Spec
}

// NewOp returns an op whose row in the command table is known already, which
// spares looking it up again where it runs on this node.
func NewOp(db int, args [][]byte, spec *command.Spec) Op { return Op{DB: db, Args: args, spec: spec} }

// lookup finds the op's row in the command table and remembers it; nil when
// there is none.
func (o *Op) lookup() *command.Spec {
	if o.spec == nil {
		o.spec, _ = command.Lookup(o.Args)
	}
	return o.spec
}

// Watch is a condition of an EXEC: the key must be as the client saw it.
type Watch struct {
	DB  int
	Key []byte
	// Version is the number of the txn that last changed the key, 0 when it
	// did not exist.
	Version uint64
	// SeenAt is the number of the last txn executed in the shard when Version
	// was read; deletions after it count as changes.
	SeenAt uint64
}

// Kind says what sort of txn this is.
type Kind uint8

const (
	// KindCommand is one command.
	KindCommand Kind = iota
	// KindExec is a transaction: its ops run together under exclusive locks
	// (D10, D11); its reply is an array of theirs, or a null array when a
	// watch failed.
	KindExec
	// KindExpire deletes the keys of its single op's arguments that are due at
	// the entry's time. Only a shard's leader makes it.
	KindExpire
	// KindTick does nothing but carry the entry's time, or mark a term's start.
	KindTick
	// KindSetting changes one replicated setting of the shard: name, value.
	KindSetting

	kindLast = KindSetting
)

// databases is the number of databases an Op can name.
const databases = engine.Databases

// Txn is the unit of atomicity.
type Txn struct {
	Kind Kind
	// Proto is the RESP version the reply is written in.
	Proto   uint8
	Ops     []Op
	Watches []Watch
}

// Bundle is a run of txns of one client for one shard: they enter the log in
// this order, next to each other, or not at all. It is the unit that travels
// from gateway to leader and into an entry, in one encoding.
type Bundle struct {
	Origin Origin
	// FirstSeq is the sequence number of Txns[0]; the others follow.
	FirstSeq uint64
	// AckedBelow promises that the gateway will never ask again for a txn of
	// this lane with a lower sequence number; their answers may be forgotten.
	AckedBelow uint64
	Txns       []Txn
}
