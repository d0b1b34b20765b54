package scriptcmd

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
)

// aside are commands on the connection or the node that scripts may use all the same. Their replies
// here depend on the log alone.
var aside = map[string]func(h *Host, args [][]byte, w *reply.Writer){
	"select":  (*Host).selectDB,
	"time":    (*Host).time,
	"ping":    (*Host).ping,
	"echo":    func(_ *Host, args [][]byte, w *reply.Writer) { w.Bulk(args[1]) },
	"publish": (*Host).publish, "spublish": (*Host).publish,
}

// prepare makes the context that the script's commands run in.
func (h *Host) prepare() {
	if !h.ready {
		h.sub, h.ready = *h.Ctx, true
		h.sub.SharesKeys = h.sharesKeys()
		h.sub.InExec, h.sub.InScript, h.sub.Walk = true, true, command.HeldWalker{}
	}
}

// sharesKeys reports whether other commands may read the script's keys while it runs. A transaction
// shares nothing. A function may hold more locks than it asks for on one replica (fcallPlan), so
// the result depends only on what it asks for.
func (h *Host) sharesKeys() bool { return h.KeyLocking && h.ReadOnly && !h.Ctx.InExec }

func (h *Host) selectDB(args [][]byte, w *reply.Writer) {
	db, ok := command.ParseInt(args[1])
	switch {
	case !ok:
		w.Error(command.ErrNotInteger)
	case db < 0 || db >= engine.Databases:
		w.Error(command.ErrDBIndex)
	default:
		h.sub.Begin(int(db))
		w.OK()
	}
}

// time is the time of day, which stands still while the script runs, as Redis's does.
func (h *Host) time(_ [][]byte, w *reply.Writer) {
	nowMs := h.Ctx.DayMs()
	w.Array(2)
	w.BulkInt(nowMs / 1000)
	w.BulkInt(nowMs % 1000 * 1000)
}

func (*Host) ping(args [][]byte, w *reply.Writer) {
	switch len(args) {
	case 1:
		w.Status("PONG")
	case 2:
		w.Bulk(args[1])
	default:
		w.Error(command.ErrArityOf("ping"))
	}
}

// publish answers 0, because the number of subscribers is not part of the state.
func (h *Host) publish(args [][]byte, w *reply.Writer) {
	if m := h.Ctx.Witness; m != nil {
		m.Publish(len(args[0]) == len("spublish"), string(args[1]), bytes.Clone(args[2]))
	}
	w.Int(0)
}
