package fsm

import (
	"fmt"

	"lockstep/engine/command"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/reply"
)

// replyBytesMax is the length in bytes up to which a txn's replies are made,
// where proto-max-bulk-len allows no longer string: as much as a client's output
// buffer takes by default. A bound that replicas share: what is in the log is
// answered on each.
const replyBytesMax = 256 << 20

// headRoom is what a reply of one string has around it, in bytes.
const headRoom = 64 << 10

func replyBound(s *command.Settings) int {
	return int(max(replyBytesMax, min(s.ValueBytesMax, 1<<40)+headRoom))
}

// runOps runs the commands of a transaction. Once it has done all the work that it
// may do the others are refused. Once a reply went beyond the bound, what only reads
// is refused unseen: a million such reads would be busy for hours.
func runOps(m *Machine, ctx *command.Ctx, ops []Op) {
	ctx.Out.Array(len(ops))
	ctx.InExec = true
	tooLong := false
	for i := range ops {
		if ctx.Exhausted() {
			ctx.Out.Error(command.ErrWork)
			continue
		}
		if tooLong && !ops[i].writes() {
			ctx.Out.Error(replyTooLong(ctx, true))
			continue
		}
		tooLong = runOp(m, ctx, &ops[i]) || tooLong
	}
}

// runOp runs one command. A panic becomes the command's error: the log would
// bring it to every replica, and again after every restart. So does a reply
// beyond the bound, and runOp returns true: a command that only reads is stopped
// there, one that writes runs to its end.
func runOp(m *Machine, ctx *command.Ctx, op *Op) (tooLong bool) {
	ctx.Begin(op.DB)
	spec := op.lookup()
	reads := !op.writes()
	ctx.Plan = op.plan
	begin := ctx.Out.Len()
	ctx.Out.Bound(replyBound(ctx.Settings), reads)
	defer func() {
		p := recover()
		tooLong = ctx.Out.TooLong()
		ctx.Out.Bound(0, false)
		m.counters.Panics.Add(uint64(ctx.Panics))
		ctx.Panics = 0
		switch {
		case p != nil && p != any(reply.ErrTooLong):
			m.counters.Panics.Add(1)
			ctx.ChangedAll()
			ctx.Out.Truncate(begin)
			ctx.Out.Error(scriptcmd.ErrPanic(op.Args[0]))
		case tooLong:
			ctx.Out.Truncate(begin)
			ctx.Out.Error(replyTooLong(ctx, reads))
		}
	}()
	spec.Run(ctx, op.Args)
	return false
}

// replyTooLong says what became of a command whose reply is beyond the bound.
func replyTooLong(ctx *command.Ctx, reads bool) string {
	text := fmt.Sprintf("ERR the reply is longer than %d bytes", replyBound(ctx.Settings))
	if reads {
		return text
	}
	return text + "; the command was executed"
}
