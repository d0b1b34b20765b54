package fsm

import (
	"fmt"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// checkCommands refuses an entry with a command this node does not know,
// before any of it has run.
func checkCommands(e *Entry) error {
	for i := range e.Bundles {
		for j := range e.Bundles[i].Txns {
			if err := e.Bundles[i].Txns[j].check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckCalls says why a gateway's txns must not enter the log, and returns nil if
// they may. An entry that a replica cannot run stops every replica, again after
// each restart, so the leader checks before it proposes one. Txns of the kinds that
// only leaders make are refused.
func CheckCalls(txns []Txn) error {
	for i := range txns {
		t := &txns[i]
		if t.Kind != KindCommand && t.Kind != KindExec {
			return fmt.Errorf("%w: a txn of kind %d", ErrCommand, t.Kind)
		}
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

// CheckReads says why txns cannot be run as reads, and returns nil if they can.
func CheckReads(txns []Txn) error {
	if err := CheckCalls(txns); err != nil {
		return err
	}
	for i := range txns {
		t := &txns[i]
		// For a program this is decided when it is planned.
		if planned := t.Kind == KindCommand && t.Ops[0].lookup().Plan != nil; !planned && !t.mayOnlyRead() {
			return ErrLogged
		}
	}
	return nil
}

// mayOnlyRead reports whether all commands of the txn only read or run programs. Whether a program
// writes is known when it is planned. Commands that inspect programs or change them do not count as
// reads.
func (t *Txn) mayOnlyRead() bool {
	for i := range t.Ops {
		if spec := t.Ops[i].lookup(); spec.Plan != nil && !spec.RunsProgram() || spec.Writes(t.Ops[i].Args) {
			return false
		}
	}
	return true
}

// check reports whether a replica can run the txn.
func (t *Txn) check() error {
	for i := range t.Ops {
		op := &t.Ops[i]
		if spec := op.lookup(); spec == nil || spec.Run == nil || !spec.CheckArity(len(op.Args)) || op.Sum != nil && !spec.Evaluates {
			return fmt.Errorf("%w: %.40q with %d arguments", ErrCommand, op.Args[0], len(op.Args))
		}
	}
	single := t.Kind != KindExec && t.Kind != KindTick
	if single && len(t.Ops) != 1 || t.Kind == KindSetting && t.Ops[0].lookup() != settingSpec || t.Kind == KindDay && t.Ops[0].lookup() != daySpec {
		return fmt.Errorf("%w: a txn of kind %d with %d ops", ErrCorrupt, t.Kind, len(t.Ops))
	}
	if t.Kind == KindServe && t.Ops[0].lookup().Waits == nil {
		return fmt.Errorf("%w: %.40q does not wait", ErrCommand, t.Ops[0].Args[0])
	}
	if t.Kind == KindSetting {
		return checkSetting(string(t.Ops[0].Args[1]), string(t.Ops[0].Args[2]))
	}
	return nil
}

// checkSetting refuses a setting, or a value of one, that this version does not know: a replica
// that ignored it would differ from the others.
func checkSetting(name, value string) error {
	if s := command.DefaultSettings; !s.Set(name, value) {
		return fmt.Errorf("%w: the setting %.40q as %.40q", ErrCommand, name, value)
	}
	return nil
}

// settingSpec is the row of the command that changes a setting, daySpec that of the one that
// changes the time of day.
var settingSpec, daySpec = commands.Get("lockstep.set"), commands.Get("lockstep.day")
