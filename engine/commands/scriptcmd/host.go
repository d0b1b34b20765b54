package scriptcmd

import (
	"bytes"
	"fmt"
	"slices"

	"lockstep/engine/command"
	"lockstep/engine/hashslot"
	"lockstep/engine/reply"
)

// Errors for commands that a script may not run.
const (
	errScriptUnknown = "ERR Unknown Redis command called from script"
	errScriptArity   = "ERR Wrong number of args calling Redis command from script"
	errScriptRefused = "ERR This Redis command is not allowed from script"
	errScriptWrites  = "ERR Write commands are not allowed from read-only scripts."
	errScriptWhole   = "ERR This Redis command is not allowed from script when 'allow-key-locking' flag is set"
	errScriptDynamic = "ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: "
	errScriptForeign = "ERR Script attempted to access a non local key in a cluster node"
)

// Host runs a script's commands within the txn of Ctx, under the locks that the txn holds. It
// implements the script package's Host. Nothing waits there: a blocking command answers as in a
// transaction.
type Host struct {
	// Ctx is the context of the command that runs the script. The script's commands see its time,
	// txn and seed, and begin in its database.
	Ctx *command.Ctx
	// ReadOnly refuses commands that write.
	ReadOnly bool
	// KeyLocking refuses each key that is not among Keys, and each command that needs the whole
	// keyspace, because only Keys are locked.
	KeyLocking bool
	Keys       [][]byte
	// MemoryFull refuses commands that may need memory until the script has written something.
	// After that the script cannot be stopped halfway.
	MemoryFull bool
	// Owns reports whether the shard has a hash slot. If it is nil the shard has all hash slots.
	Owns func(hashSlot int) bool

	sub   command.Ctx
	ready bool
	wrote bool
	refs  []command.KeyRef
	calls uint64
	// index holds Keys if there are many.
	index map[string]struct{}
	// denial is the reason why the user may not run the current command.
	denial command.Denial
}

// spec is the row of a command, or nil if scripts do not know the command.
func (h *Host) spec(args [][]byte) *command.Spec {
	spec, _ := h.Ctx.Commands.Lookup(args)
	if spec == nil || spec.Internal() || spec.Is(command.NotInScripts) {
		return nil
	}
	return spec
}

// Call runs a command, or answers why it may not run.
func (h *Host) Call(args [][]byte, workMax int64, bytesMax int, w *reply.Writer) (work int64) {
	spec := h.spec(args)
	h.denial = command.Denial{}
	if refusal := h.refusal(spec, args); refusal != "" {
		w.Error(refusal)
		if h.Ctx.Witness != nil {
			h.Ctx.Witness.Refused(h.Ctx.Caller, h.Ctx.User, spec, args, h.denial, w.Bytes())
		}
		return command.WorkCommand
	}
	h.prepare()
	before := h.sub.Work()
	h.sub.Bound, h.sub.Short = h.Ctx.Bound, false
	if h.sub.WorkLeft() > workMax {
		h.sub.Bound = before + workMax
	}
	if h.Ctx.Witness == nil {
		h.perform(spec, args, bytesMax, w)
	} else {
		mark := h.Ctx.Witness.Began()
		h.perform(spec, args, bytesMax, w)
		h.Ctx.Witness.Ended(h.Ctx.Caller, mark, spec, args, h.sub.DB, failureOf(w.Bytes()))
	}
	if h.sub.Short && h.sub.Bound == before+workMax {
		// The limit that ends the script is the lower of the two.
		return workMax + 1
	}
	return h.sub.Work() - before + command.CommandWork(args)
}

// failureOf returns a reply if it is an error, otherwise nil.
func failureOf(reply []byte) []byte {
	if len(reply) > 0 && reply[0] == '-' {
		return reply
	}
	return nil
}

// perform runs a command that is not refused.
func (h *Host) perform(spec *command.Spec, args [][]byte, bytesMax int, w *reply.Writer) {
	if run := aside[spec.Name]; run != nil {
		run(h, args, w)
		return
	}
	defer h.recover(args[0], w)
	h.sub.Out = w
	h.sub.Begin(h.sub.DB)
	// Each command of a script gets a seed of its own.
	h.calls++
	h.sub.Seed = command.NewChance(h.Ctx.Seed ^ h.calls*0x9e3779b97f4a7c15).Next()
	h.run(spec, args, bytesMax)
	h.Ctx.Due = h.Ctx.Due || h.sub.Due
}

// run runs a command. A command that only reads is aborted if its reply gets too long.
func (h *Host) run(spec *command.Spec, args [][]byte, bytesMax int) {
	writes := spec.Writes(args)
	h.wrote = h.wrote || writes
	h.sub.Out.Bound(bytesMax, !writes)
	spec.Run(&h.sub, args)
}

// recover answers a panic as elsewhere. A panic must not become an error of the script itself,
// which could catch it.
func (h *Host) recover(name []byte, w *reply.Writer) {
	if p := recover(); p != nil && p != any(reply.ErrTooLong) {
		h.Ctx.Panics++
		h.Ctx.ChangedAll()
		w.Reset(w.Proto)
		w.Error(ErrPanic(name))
	}
}

// ErrPanic is the error reply to a command that panicked.
func ErrPanic(name []byte) string {
	return fmt.Sprintf("ERR internal error in '%s'; please report it", name)
}

// refusal returns why a command cannot run from the script, or "". The order of the checks is
// Redis's.
func (h *Host) refusal(spec *command.Spec, args [][]byte) string {
	switch {
	case spec == nil:
		return errScriptUnknown
	case !spec.CheckArity(len(args)):
		return errScriptArity
	case spec.Flags&(command.NoScript|command.Local) != 0 || spec.Run == nil && aside[spec.Name] == nil:
		return errScriptRefused
	}
	if text := h.userRefusal(spec, args); text != "" {
		return text
	}
	switch {
	case h.ReadOnly && (spec.Is(command.Write) || spec.Is(command.MayReplicate)):
		return errScriptWrites
	case h.MemoryFull && spec.Is(command.DenyOOM) && !h.wrote:
		return command.ErrOOM
	case aside[spec.Name] != nil:
		return ""
	case h.KeyLocking && (spec.Scope != command.ScopeKeys || spec.Wanders != nil && spec.Wanders(args)):
		return errScriptWhole
	}
	return h.keysRefusal(spec, args)
}

// keysRefusal returns why a command may not use its keys, or "".
func (h *Host) keysRefusal(spec *command.Spec, args [][]byte) string {
	if !h.KeyLocking && h.Owns == nil {
		return ""
	}
	h.refs = spec.AppendKeys(h.refs[:0], args)
	for _, k := range h.refs {
		switch key := args[k.Pos]; {
		case h.KeyLocking && !h.declared(key):
			return errScriptDynamic + string(key)
		case h.Owns != nil && !h.Owns(hashslot.Of(key)):
			return errScriptForeign
		}
	}
	return ""
}

// searchedKeys is the most keys that are searched one by one.
const searchedKeys = 16

// declared reports whether a key is among Keys. A call may have a hundred thousand keys, and use
// each of them in a command. So a lookup must not cost a search through all of them.
func (h *Host) declared(key []byte) bool {
	if len(h.Keys) <= searchedKeys {
		return slices.ContainsFunc(h.Keys, func(k []byte) bool { return bytes.Equal(k, key) })
	}
	if h.index == nil {
		h.index = make(map[string]struct{}, len(h.Keys))
		for _, k := range h.Keys {
			h.index[string(k)] = struct{}{}
		}
	}
	_, found := h.index[string(key)]
	return found
}

// MayCall answers for the user who runs the script.
func (h *Host) MayCall(args [][]byte) (allowed, known bool) {
	spec := h.spec(args)
	if spec == nil || !spec.CheckArity(len(args)) {
		return spec != nil, false
	}
	return h.Ctx.User == nil || h.Ctx.User.Judge(spec, args).Reason == command.Allowed, true
}

// Log passes on a message that the script logs.
func (h *Host) Log(level int, text string) {
	if h.Ctx.Witness != nil {
		h.Ctx.Witness.Log(level, text)
	}
}
