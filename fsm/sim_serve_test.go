package fsm

import "fmt"

// simWaits is the number of lanes for waits of the only gateway.
const simWaits = 5

// simWait is the newest wait of a lane.
type simWait struct {
	seq uint64
	op  Op
}

// waitingCommands are blocking commands, with arguments that usually find something.
var waitingCommands = []func(*simLog) []string{
	func(l *simLog) []string { return []string{"blpop", l.list(), l.list(), "0"} },
	func(l *simLog) []string {
		return []string{"blmpop", "0", "2", l.list(), l.list(), "left", "count", "3"}
	},
	func(l *simLog) []string { return []string{"blmove", l.list(), l.list(), "right", "left", "0"} },
	func(l *simLog) []string { return []string{"bzpopmin", string(l.word()), string(l.word()), "0"} },
	func(l *simLog) []string { return []string{"bzmpop", "0", "1", string(l.word()), "max", "count", "2"} },
	func(l *simLog) []string {
		return []string{"xreadgroup", "group", "g", "ann", "block", "0", "streams", string(l.word()), ">"}
	},
}

// list draws the name of a key that is usually a list.
func (l *simLog) list() string { return fmt.Sprintf("{k%d}list", l.rng.IntN(4)) }

// serve draws a KindServe: of a wait that may have been served before, or of the next wait of its
// lane.
func (l *simLog) serve() Txn {
	lane := l.rng.IntN(simWaits)
	w := &l.waits[lane]
	if w.seq == 0 || l.rng.IntN(3) == 0 {
		w.seq++
		w.op = Op{DB: 0}
		for _, a := range waitingCommands[l.rng.IntN(len(waitingCommands))](l) {
			w.op.Args = append(w.op.Args, []byte(a))
		}
	}
	id := TxnID{Origin{Node: 42, Boot: 1, Lane: WaitLane + uint32(lane)}, w.seq}
	return Txn{Kind: KindServe, Proto: uint8(2 + l.rng.IntN(2)), Ops: []Op{w.op}, Serve: Serve{id, ServeHow(l.rng.IntN(8))}}
}

// push draws a write that fills a list for waiting clients.
func (l *simLog) push() Op {
	return Op{DB: 0, Args: [][]byte{[]byte("rpush"), []byte(l.list()), l.word(), l.word()}}
}

// withServes puts a KindServe behind some of a bundle's txns.
func (l *simLog) withServes(txns []Txn) []Txn {
	var all []Txn
	for i := range txns {
		t := txns[i]
		serves := l.rng.IntN(3)
		if l.rng.IntN(4) != 0 {
			serves = 0
		} else if l.rng.IntN(2) == 0 && t.Kind == KindCommand {
			t = Txn{Proto: t.Proto, Ops: []Op{l.push()}}
		}
		all = append(all, t)
		for range serves {
			all = append(all, l.serve())
		}
	}
	return all
}
