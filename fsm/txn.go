package fsm

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/sched"
	"lockstep/engine/script"
)

// Origin names the gateway process that made a bundle, and one of its lanes. A lane
// is an independent sequence of numbers, so that one slow txn keeps few other
// records from being forgotten.
type Origin struct {
	// Node is the gateway's incarnation: a random number from when its data folder
	// was made. 0 stands for a leader that proposes txns of its own; those have no
	// identity.
	Node uint64
	// Boot grows by one with every start of that gateway.
	Boot uint64
	Lane uint32
}

// TxnID names a txn for ever. A txn with a known id never runs twice: the duplicate
// table answers it.
type TxnID struct {
	Origin
	Seq uint64
}

// Op is one command of a txn.
type Op struct {
	DB int
	// Args holds the command's name, in lower case, and its arguments. Arguments
	// decoded from a log entry point into the entry, and must be copied to be kept.
	Args [][]byte
	// Sum is the SHA1 of the script whose text is Args[1], or nil. It is sent in place of the text
	// when the shard is known to have the script in its cache; a decoded op then has no text. If
	// the script is gone when the txn's turn comes, the txn does not run (OutcomeScriptGone).
	Sum []byte

	// script is the script that Sum names, once it was found.
	script *script.Script
	// spec is the command's row, once it was looked up.
	spec *command.Spec
	// plan is set by Op.makePlan.
	plan *command.Plan
}

// Evaluates reports whether the op runs a script whose text it has.
func (o *Op) Evaluates() bool {
	spec := o.lookup()
	return spec != nil && spec.Evaluates && spec.CheckArity(len(o.Args)) && o.Args[1] != nil
}

// makePlan plans a call whose row asks for it.
func (o *Op) makePlan(p *command.Planning) {
	p.Script = o.script
	plan := o.lookup().Plan(p, o.Args)
	o.plan = &plan
}

// writes reports whether the op may change data.
func (o *Op) writes() bool {
	if o.plan != nil {
		return o.plan.Writes
	}
	return o.lookup().Is(command.Write)
}

// lock adds the locks of a planned op to an access.
func (o *Op) lock(a *sched.Access, ks *engine.Keyspace) {
	mode := sched.Exclusive
	if o.plan.Shared {
		mode = sched.Shared
	}
	switch o.plan.Access {
	case command.PlanGlobal:
		a.Global = true
	case command.PlanKeys:
		o.lockKeys(a, ks, mode)
	}
}

// lockKeys adds the keys of a planned op. An op without keys takes the slot of the empty key;
// otherwise any number of programs that touch nothing could run at once, in no order.
func (o *Op) lockKeys(a *sched.Access, ks *engine.Keyspace, mode sched.Mode) {
	var buf [8]command.KeyRef
	keys := o.lookup().AppendKeys(buf[:0], o.Args)
	for _, k := range keys {
		a.Add(ks.LockSlot(o.Args[k.Pos]), mode)
	}
	if len(keys) == 0 {
		a.Add(ks.LockSlot(nil), mode)
	}
}

// heavyArgs is the number of arguments beyond which a command is handed to a worker, because it
// takes more than some tens of microseconds.
const heavyArgs = 256

// TakesLong reports whether the op may take long and is handed to a worker. The op must have a row.
func (o *Op) TakesLong() bool { return o.MayTakeLong() || len(o.Args) > heavyArgs }

// MayTakeLong reports whether the op's duration depends on more than its arguments.
func (o *Op) MayTakeLong() bool { return o.lookup().TakesLong(o.Args) }

// program is the name of the program that the op runs, as far as that is known, or "" if it runs
// none.
func (o *Op) program() string {
	if o.plan == nil {
		return ""
	}
	return o.plan.Program
}

// label is the command that the txn is known by, and the program that it runs. For
// a transaction this is the first command that runs a program.
func (t *Txn) label() (name, program string) {
	for i := range t.Ops {
		if program = t.Ops[i].program(); program != "" {
			return t.Ops[i].lookup().Name, program
		}
	}
	return t.Ops[0].lookup().Name, ""
}

// NewOp returns an op whose row in the command table is already known, which saves
// another lookup if it runs on this node.
func NewOp(db int, args [][]byte, spec *command.Spec) Op { return Op{DB: db, Args: args, spec: spec} }

// Clone is a copy of the command, with arguments of its own.
func (o *Op) Clone() Op {
	own := Op{DB: o.DB, Args: make([][]byte, len(o.Args)), Sum: bytes.Clone(o.Sum), spec: o.spec}
	for i, a := range o.Args {
		own.Args[i] = bytes.Clone(a)
	}
	return own
}

// Spec is the op's row in the command table, or nil if there is none.
func (o *Op) Spec() *command.Spec { return o.lookup() }

// lookup finds the op's row in the command table and caches it. It returns nil if
// there is none.
func (o *Op) lookup() *command.Spec {
	if o.spec == nil {
		o.spec, _ = commands.Lookup(o.Args)
	}
	return o.spec
}

// Watch is a condition of an EXEC: the key must be as the client saw it.
type Watch struct {
	DB  int
	Key []byte
	// Version is the number of the txn that last changed the key, or 0 if the key
	// did not exist.
	Version uint64
	// SeenAt is the number of the newest txn of the shard that was certainly seen
	// when Version was read; deletions after it count as changes.
	SeenAt uint64
}

// Kind says what sort of txn this is.
type Kind uint8

const (
	// KindCommand is one command.
	KindCommand Kind = iota
	// KindExec is a transaction: its ops run together under exclusive locks;
	// its reply is an array of theirs, or a null array when a watch failed.
	KindExec
	// KindExpire deletes those keys, among the arguments of its single op, that
	// have expired at the entry's time. Only a shard's leader makes it.
	KindExpire
	// KindTick does nothing but carry the entry's time, or mark a term's start.
	KindTick
	// KindSetting changes one replicated setting of the shard: name, value.
	KindSetting
	// KindEvict deletes the keys of its single op's arguments that have not
	// changed since the leader chose them. Only a shard's leader makes it.
	KindEvict
	// KindServe runs the blocking command of a waiting client (serve.go). Only a
	// shard's leader makes it.
	KindServe
	// KindDay sets the offset from the log time to the time of day (SetDay). Only a shard's leader makes it.
	KindDay

	kindLast = KindDay
)

// databases is the number of databases an Op can name.
const databases = engine.Databases

// Txn is the unit of atomicity.
type Txn struct {
	Kind Kind
	// Proto is the RESP version the reply is written in.
	Proto uint8
	// NoTouch leaves the replicas' usage records of the keys unchanged.
	NoTouch bool
	// MemoryFull means that memory was full when the txn entered the log. Its
	// scripts then refuse commands that may need memory, on every replica alike.
	MemoryFull bool
	// User holds the rules of the user that runs the txn (acl.User.Permissions), if the
	// commands need them while they run. nil is a user that may do everything. User is
	// the same on every replica, even if the user has changed meanwhile.
	User []byte
	// Caller is the client that the txn's scripts run for, if another client may have to be shown
	// what they do. Nothing that the txn does depends on it.
	Caller  command.Caller
	Ops     []Op
	Watches []Watch
	// Serve says which wait a KindServe serves, and how.
	Serve Serve
}

// GrowsMemory reports whether the txn is refused while memory is full: one of its
// commands may grow memory, or runs a program and MemoryFull is not set.
func (t *Txn) GrowsMemory() bool {
	return t.has(func(s *command.Spec) bool { return s.Is(command.DenyOOM) || s.RunsProgram() && !t.MemoryFull })
}

// GrowthBytes bounds the memory that the txn's commands may need beyond that of
// their arguments (command.Spec.GrowthBytes). largest is the share of the single
// command that may need the most. sizes returns what is known of a database's
// values.
func (t *Txn) GrowthBytes(sizes func(db int) *command.Sizes) (sum, largest int64) {
	for i := range t.Ops {
		op := &t.Ops[i]
		if spec := op.lookup(); spec != nil && spec.CheckArity(len(op.Args)) && spec.Is(command.DenyOOM) {
			n := spec.GrowthBytes(op.Args, sizes(op.DB))
			sum, largest = sum+n, max(largest, n)
		}
	}
	return sum, largest
}

// TakesLong reports whether one of the txn's commands may take long.
func (t *Txn) TakesLong() bool {
	for i := range t.Ops {
		if op := &t.Ops[i]; op.lookup() != nil && op.TakesLong() {
			return true
		}
	}
	return false
}

// lanes reports whether the txn has a command of which the arguments do not show that it will be
// short (backlog.go).
func (t *Txn) lanes() bool {
	for i := range t.Ops {
		if t.Ops[i].MayTakeLong() {
			return true
		}
	}
	return false
}

// Bends reports whether the txn may run while memory is full, if MemoryFull is set.
func (t *Txn) Bends() bool {
	return !t.has(func(s *command.Spec) bool { return s.Is(command.DenyOOM) })
}

func (t *Txn) has(property func(*command.Spec) bool) bool {
	for i := range t.Ops {
		if spec := t.Ops[i].lookup(); spec != nil && property(spec) {
			return true
		}
	}
	return false
}

// Bundle is a run of txns of one client for one shard. They enter the log in this
// order and next to each other, or not at all. A bundle travels from gateway to
// leader and into an entry in one encoding.
type Bundle struct {
	Origin Origin
	// FirstSeq is the sequence number of the first txn; the others follow. A KindServe, which a
	// leader puts in between, has an identity of its own and no number of the lane.
	FirstSeq uint64
	// AckedBelow promises that the gateway will never retry a txn of this lane with
	// a lower sequence number; those replies may be forgotten.
	AckedBelow uint64
	Txns       []Txn
}

// numbered is how many of the bundle's txns have a number of its lane.
func (b *Bundle) numbered() (n uint64) {
	for i := range b.Txns {
		if b.Txns[i].Kind != KindServe {
			n++
		}
	}
	return n
}
