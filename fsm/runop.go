package fsm

import (
	"fmt"

	"lockstep/engine/command"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/reply"
)

// replyBytesMax bounds a txn's replies, in bytes, where proto-max-bulk-len does not
// allow a longer string. It is the default size of a client's output buffer. All
// replicas have the same bound, because each of them computes the replies to logged
// txns.
const replyBytesMax = 256 << 20

// headRoom is the room for the framing of a reply of one string, in bytes.
const headRoom = 64 << 10

func replyBound(s *command.Settings) int {
	return int(max(replyBytesMax, min(s.ValueBytesMax, 1<<40)+headRoom))
}

// runOps runs the commands of a transaction. Once it has used up the work that it may do, the
// remaining commands are refused. Once a reply exceeded the bound, read-only commands are refused
// without running: a million such reads would take hours.
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

// runOp runs one command. A panic becomes the command's error: otherwise the log
// would repeat the panic on every replica, and again after every restart. A reply
// beyond the bound also becomes an error, and runOp then returns true. A read-only
// command is stopped at the bound; a write runs to its end.
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

// replyTooLong is the error of a command whose reply is beyond the bound.
func replyTooLong(ctx *command.Ctx, reads bool) string {
	text := fmt.Sprintf("ERR the reply is longer than %d bytes", replyBound(ctx.Settings))
	if reads {
		return text
	}
	return text + "; the command was executed"
}
