package scriptcmd

import (
	"errors"
	"fmt"
	"math"

	"lockstep/engine/command"
	"lockstep/engine/rdb"
	"lockstep/engine/script"
)

// Errors of the commands about functions.
const (
	errNoFunction       = "ERR Function not found"
	errFunctionKeys     = "ERR Bad number of keys provided"
	errFunctionFlush    = "ERR FUNCTION FLUSH only supports SYNC|ASYNC option"
	errFunctionPattern  = "ERR library name argument was not given"
	errFunctionType     = "ERR given type is not a function"
	errFunctionCut      = "ERR Failed loading library payload"
	errFunctionPolicy   = "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."
	errFunctionTooMany  = "ERR unknown subcommand or wrong number of arguments for '%s'. Try FUNCTION HELP."
	errFunctionOption   = "ERR Unknown option given: "
	errFunctionArgument = "ERR Unknown argument "
)

// functionLimits are the limits on the libraries of a shard.
func functionLimits(s *command.Settings) *script.FunctionLimits {
	return &script.FunctionLimits{
		Libraries: int(s.FunctionLibrariesMax), Functions: int(s.FunctionsMax), Bytes: int(s.FunctionBytesMax),
		SourceBytes: int(s.ScriptSourceBytesMax),
	}
}

// fcallPlan plans FCALL and FCALL_RO. The function decides what the call locks. If a change of the
// libraries is in the log before the call and has not run yet, the function is not known. Then
// the call locks the whole shard, and finds the function when it has the locks. So one replica may
// take more locks than another, but they run the same function.
func fcallPlan(readOnly bool) func(*command.Planning, [][]byte) command.Plan {
	return func(p *command.Planning, args [][]byte) command.Plan {
		changes := p.Programs.Functions.Changes()
		f, settled := p.Programs.Functions.Find(string(args[1]))
		if !settled && !p.Logged {
			return planLater()
		}
		if p.InExec || !settled {
			plan := command.Plan{Access: command.PlanGlobal, Writes: !readOnly, Program: string(args[1]), Run: func(c *command.Ctx, args [][]byte) {
				f, _ := c.Programs.Functions.Find(string(args[1]))
				runFunction(c, f, args, readOnly)
			}}
			switch {
			case !p.Logged:
				// The plan goes by the function as it is known now, also in a transaction.
				plan.OfChange, plan.Writes = changes, !readOnly && (f == nil || f.Flags&script.NoWrites == 0)
			case !p.InExec:
				plan.Asks = fcallAsks(readOnly)
			}
			return plan
		}
		if f == nil {
			return planError(errNoFunction)
		}
		if refusal := functionKeysRefusal(args); refusal != "" {
			return planError(refusal)
		}
		plan := command.Plan{Access: command.PlanGlobal, Program: f.Name, Run: func(c *command.Ctx, args [][]byte) { runFunction(c, f, args, readOnly) }}
		if !p.Logged {
			plan.OfChange = changes
		}
		plan.Shared = readOnly || f.Flags&script.NoWrites != 0
		// In the log the plan must not depend on the flags that this replica knows now.
		plan.Writes = !readOnly && (p.Logged || !plan.Shared)
		if f.Flags&script.AllowKeyLocking != 0 {
			plan.Access = command.PlanKeys
		}
		return plan
	}
}

// fcallAsks returns the locks of a call when its function is known.
func fcallAsks(readOnly bool) func(*command.Programs, [][]byte) (access command.PlanAccess, shared bool) {
	return func(p *command.Programs, args [][]byte) (command.PlanAccess, bool) {
		f, _ := p.Functions.Find(string(args[1]))
		switch {
		case f == nil || functionKeysRefusal(args) != "":
			return command.PlanNothing, false
		case f.Flags&script.AllowKeyLocking != 0:
			return command.PlanKeys, readOnly || f.Flags&script.NoWrites != 0
		}
		return command.PlanGlobal, false
	}
}

// fcallLogged looks the function up on this node, whose knowledge may be old. A call that turns out
// to write is sent again, through the log.
func fcallLogged(p *command.Programs, args [][]byte) (logged, known bool) {
	if p == nil {
		return true, false
	}
	f, _ := p.Functions.Find(string(args[1]))
	if f == nil {
		return true, false
	}
	return f.Flags&script.NoWrites == 0, true
}

// functionKeysRefusal says why keys and arguments cannot be separated, as declaredKeys does, but
// with FCALL's error for a count that is not a number.
func functionKeysRefusal(args [][]byte) string {
	_, _, refusal := declaredKeys(args)
	if refusal == command.ErrNotInteger {
		return errFunctionKeys
	}
	return refusal
}

// runFunction calls a function under the locks of its plan. f is nil if there is none.
func runFunction(c *command.Ctx, f *script.Function, args [][]byte, readOnly bool) {
	if f == nil {
		c.Out.Error(errNoFunction)
		return
	}
	if refusal := functionKeysRefusal(args); refusal != "" {
		c.Out.Error(refusal)
		return
	}
	// The program is not charged for loading its library, because the library may be loaded
	// already. So the txn is charged for it with each call.
	if !c.Announce(f.Library.LoadWork()) {
		c.Out.Error(command.ErrWork)
		return
	}
	runProgram(c, program{function: f, kind: command.KindFunction, readOnly: readOnly}, script.Header{Present: true, Flags: f.Flags}, args)
}

// functionChange plans a change of the libraries, which runs alone in its shard.
func functionChange(run func(*command.Ctx, [][]byte)) func(*command.Planning, [][]byte) command.Plan {
	return func(p *command.Planning, _ [][]byte) command.Plan {
		if p.Logged {
			p.Programs.Functions.Announce()
		}
		return command.Plan{Access: command.PlanGlobal, Writes: true, ChangesFunctions: true, Run: run}
	}
}

// planLater plans a read that comes after a change of the functions that is in the log and has
// not run yet. The read waits for its turn and is then planned again.
func planLater() command.Plan {
	return command.Plan{Access: command.PlanGlobal, OfChange: math.MaxUint64, Run: func(c *command.Ctx, _ [][]byte) { c.Out.Error(errNoFunction) }}
}

// functionLook plans a command that reads the libraries. If the libraries are settled it takes no
// locks, because running programs may hold them all. In a transaction the answer is part of the
// state, so it does take locks.
func functionLook(run func(*command.Ctx, [][]byte)) func(*command.Planning, [][]byte) command.Plan {
	return func(p *command.Planning, _ [][]byte) command.Plan {
		switch {
		case p.Logged:
			return command.Plan{Access: command.PlanGlobal, Run: run}
		case !p.Programs.Functions.Settled():
			return planLater()
		}
		return command.Plan{Run: run}
	}
}

// functionWatch is functionLook for a command that looks at running programs. It must not wait for
// them.
func functionWatch(run func(*command.Ctx, [][]byte)) func(*command.Planning, [][]byte) command.Plan {
	return func(p *command.Planning, _ [][]byte) command.Plan {
		if p.Logged {
			return command.Plan{Access: command.PlanGlobal, Run: run}
		}
		return command.Plan{Run: run}
	}
}

func tooManyArguments(subcommand []byte) string { return fmt.Sprintf(errFunctionTooMany, subcommand) }

// answer answers the text of an error, or OK.
func answer(c *command.Ctx, err error) {
	if err != nil {
		c.Out.Error(err.Error())
		return
	}
	c.Out.OK()
}

func functionLoad(c *command.Ctx, args [][]byte) {
	at := 2
	replace := false
	for ; at < len(args)-1; at++ {
		if !command.EqualFold(args[at], "replace") {
			c.Out.Error(errFunctionOption + string(args[at]))
			return
		}
		replace = true
	}
	if !librarySteps(c) {
		return
	}
	name, err := c.Programs.Functions.Load(args[at], replace, functionLimits(c.Settings), c.TxnNo, func(work int64) error { return payLoading(c, work) })
	if err != nil {
		c.Out.Error(err.Error())
		return
	}
	c.Out.BulkString(name)
}

// librarySteps counts the steps for walking over the existing libraries.
func librarySteps(c *command.Ctx) bool {
	libraries, functions, _ := c.Programs.Functions.Count()
	return c.Steps(int64(libraries+functions) / command.StepPending)
}

// payLoading charges the work of compiling and loading a library.
func payLoading(c *command.Ctx, work int64) error {
	if !c.Announce(work) {
		return errors.New(command.ErrWork)
	}
	return nil
}

func functionDelete(c *command.Ctx, args [][]byte) {
	if !librarySteps(c) {
		return
	}
	answer(c, c.Programs.Functions.Delete(string(args[2]), c.TxnNo))
}

func functionFlush(c *command.Ctx, args [][]byte) {
	switch {
	case len(args) > 3:
		c.Out.Error(tooManyArguments(args[1]))
	case len(args) == 3 && !command.EqualFold(args[2], "sync") && !command.EqualFold(args[2], "async"):
		c.Out.Error(errFunctionFlush)
	default:
		c.Programs.Functions.Flush(c.TxnNo)
		c.Out.OK()
	}
}

func functionDump(c *command.Ctx, _ [][]byte) {
	var sources [][]byte
	for _, l := range c.Programs.Functions.Libraries() {
		sources = append(sources, l.Source)
	}
	c.Out.Bulk(rdb.AppendFunctions(nil, sources))
}

func functionRestore(c *command.Ctx, args [][]byte) {
	policy := script.Append
	switch {
	case len(args) > 4:
		c.Out.Error(tooManyArguments(args[1]))
		return
	case len(args) == 3 || command.EqualFold(args[3], "append"):
	case command.EqualFold(args[3], "replace"):
		policy = script.Replace
	case command.EqualFold(args[3], "flush"):
		policy = script.Clear
	default:
		c.Out.Error(errFunctionPolicy)
		return
	}
	sources, err := rdb.ReadFunctions(args[2], int(c.Settings.FunctionBytesMax))
	switch {
	case errors.Is(err, rdb.ErrChecksum):
		c.Out.Error(command.ErrBadDump)
	case errors.Is(err, rdb.ErrType):
		c.Out.Error(errFunctionType)
	case err != nil:
		c.Out.Error(errFunctionCut)
	case librarySteps(c):
		answer(c, c.Programs.Functions.Restore(sources, policy, functionLimits(c.Settings), c.TxnNo, func(work int64) error { return payLoading(c, work) }))
	}
}

func functionKill(c *command.Ctx, _ [][]byte) { kill(c, command.KindFunction) }

// listing holds the options of FUNCTION LIST.
type listing struct {
	pattern         []byte
	named, withCode bool
}

// listingOf reads the arguments, or returns why they are wrong.
func listingOf(args [][]byte) (l listing, refusal string) {
	for i := 2; i < len(args); i++ {
		switch {
		case !l.withCode && command.EqualFold(args[i], "withcode"):
			l.withCode = true
		case !l.named && command.EqualFold(args[i], "libraryname"):
			if i++; i == len(args) {
				return l, errFunctionPattern
			}
			l.pattern, l.named = args[i], true
		default:
			return l, errFunctionArgument + string(args[i])
		}
	}
	return l, ""
}

func functionList(c *command.Ctx, args [][]byte) {
	l, refusal := listingOf(args)
	if refusal != "" {
		c.Out.Error(refusal)
		return
	}
	if !librarySteps(c) {
		return
	}
	begin, n := c.Out.Len(), 0
	for _, lib := range c.Programs.Functions.Libraries() {
		if !l.named || c.Matches(l.pattern, []byte(lib.Name), true) {
			writeLibrary(c, lib, l.withCode)
			n++
		}
	}
	if !c.OutOfTries(begin) {
		c.Out.ArrayFrom(begin, n)
	}
}

func writeLibrary(c *command.Ctx, l *script.Library, withCode bool) {
	if withCode {
		c.Out.Map(4)
	} else {
		c.Out.Map(3)
	}
	c.Out.BulkString("library_name")
	c.Out.BulkString(l.Name)
	c.Out.BulkString("engine")
	c.Out.BulkString("LUA")
	c.Out.BulkString("functions")
	c.Out.Array(len(l.Functions))
	for _, f := range l.Functions {
		writeFunction(c, f)
	}
	if withCode {
		c.Out.BulkString("library_code")
		c.Out.Bulk(l.Source)
	}
}

func writeFunction(c *command.Ctx, f *script.Function) {
	c.Out.Map(3)
	c.Out.BulkString("name")
	c.Out.BulkString(f.Name)
	c.Out.BulkString("description")
	if f.Description == "" {
		c.Out.Null()
	} else {
		c.Out.BulkString(f.Description)
	}
	c.Out.BulkString("flags")
	names := f.Flags.Names()
	c.Out.Set(len(names))
	for _, name := range names {
		c.Out.Status(name)
	}
}

// functionStats reports the function that has run for the longest time. In a transaction nothing
// else runs.
func functionStats(c *command.Ctx, _ [][]byte) {
	c.Out.Map(2)
	c.Out.BulkString("running_script")
	if p := c.Programs.Running.Oldest(command.KindFunction); p == nil || c.Logged {
		c.Out.Null()
	} else {
		c.Out.Map(3)
		c.Out.BulkString("name")
		c.Out.BulkString(p.Name)
		c.Out.BulkString("command")
		c.Out.Array(len(p.Command))
		for _, a := range p.Command {
			c.Out.Bulk(a)
		}
		c.Out.BulkString("duration_ms")
		c.Out.Int(max(0, c.ClockMs()-p.BeganMs))
	}
	libraries, functions, _ := c.Programs.Functions.Count()
	c.Out.BulkString("engines")
	c.Out.Map(1)
	c.Out.BulkString("LUA")
	c.Out.Map(2)
	c.Out.BulkString("libraries_count")
	c.Out.Int(int64(libraries))
	c.Out.BulkString("functions_count")
	c.Out.Int(int64(functions))
}
