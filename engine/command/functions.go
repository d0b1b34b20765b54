package command

import (
	"errors"
	"fmt"
	"math"

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
func (s *Settings) functionLimits() *script.FunctionLimits {
	return &script.FunctionLimits{
		Libraries: int(s.FunctionLibrariesMax), Functions: int(s.FunctionsMax), Bytes: int(s.FunctionBytesMax),
		SourceBytes: int(s.ScriptSourceBytesMax),
	}
}

// fcallPlan plans FCALL and FCALL_RO. What the call locks is its function's
// affair. While a change of the libraries has its place in the log before the
// call, but has not run, the function is not known: then the call locks the shard,
// and looks for it when it has the locks. So a replica may take more locks than
// another one, and runs the same function.
func fcallPlan(readOnly bool) func(*Planning, [][]byte) Plan {
	return func(p *Planning, args [][]byte) Plan {
		changes := p.Programs.Functions.Changes()
		f, settled := p.Programs.Functions.Find(string(args[1]))
		if !settled && !p.Logged {
			return planLater()
		}
		if p.InExec || !settled {
			plan := Plan{Access: PlanGlobal, Writes: !readOnly, Program: string(args[1]), Run: func(c *Ctx, args [][]byte) {
				f, _ := c.Programs.Functions.Find(string(args[1]))
				c.runFunction(f, args, readOnly)
			}}
			switch {
			case !p.Logged:
				// It goes by the function that is known now, in a transaction too.
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
		plan := Plan{Access: PlanGlobal, Program: f.Name, Run: func(c *Ctx, args [][]byte) { c.runFunction(f, args, readOnly) }}
		if !p.Logged {
			plan.OfChange = changes
		}
		plan.Shared = readOnly || f.Flags&script.NoWrites != 0
		// In the log the flags known here must not show.
		plan.Writes = !readOnly && (p.Logged || !plan.Shared)
		if f.Flags&script.AllowKeyLocking != 0 {
			plan.Access = PlanKeys
		}
		return plan
	}
}

// fcallAsks is what a call locks where its function is known.
func fcallAsks(readOnly bool) func(*Programs, [][]byte) (access PlanAccess, shared bool) {
	return func(p *Programs, args [][]byte) (PlanAccess, bool) {
		f, _ := p.Functions.Find(string(args[1]))
		switch {
		case f == nil || functionKeysRefusal(args) != "":
			return PlanNothing, false
		case f.Flags&script.AllowKeyLocking != 0:
			return PlanKeys, readOnly || f.Flags&script.NoWrites != 0
		}
		return PlanGlobal, false
	}
}

// fcallLogged looks for the function on this node. What it knows may be old: a
// call that turns out to write is sent again, through the log.
func fcallLogged(p *Programs, args [][]byte) (logged, known bool) {
	if p == nil {
		return true, false
	}
	f, _ := p.Functions.Find(string(args[1]))
	if f == nil {
		return true, false
	}
	return f.Flags&script.NoWrites == 0, true
}

// functionKeysRefusal says why keys and arguments cannot be told apart, as
// declaredKeys does, with FCALL's words for what is no number.
func functionKeysRefusal(args [][]byte) string {
	_, _, refusal := declaredKeys(args)
	if refusal == ErrNotInteger {
		return errFunctionKeys
	}
	return refusal
}

// runFunction calls a function under the locks of its plan; nil: there is none.
func (c *Ctx) runFunction(f *script.Function, args [][]byte, readOnly bool) {
	if f == nil {
		c.Out.Error(errNoFunction)
		return
	}
	if refusal := functionKeysRefusal(args); refusal != "" {
		c.Out.Error(refusal)
		return
	}
	// The call pays for no loading, for whether it has to cannot be told: so a
	// transaction of calls does.
	if !c.announce(f.Library.LoadWork()) {
		c.Out.Error(ErrWork)
		return
	}
	c.runProgram(program{function: f, kind: KindFunction, readOnly: readOnly}, script.Header{Present: true, Flags: f.Flags}, args)
}

// functionChange plans what changes the libraries: alone in its shard.
func functionChange(run func(*Ctx, [][]byte)) func(*Planning, [][]byte) Plan {
	return func(p *Planning, _ [][]byte) Plan {
		if p.Logged {
			p.Programs.Functions.Announce()
		}
		return Plan{Access: PlanGlobal, Writes: true, ChangesFunctions: true, Run: run}
	}
}

// planLater plans a read behind a change of the functions that has its place in
// the log, but has not run: it takes its turn, and is planned again.
func planLater() Plan {
	return Plan{Access: PlanGlobal, OfChange: math.MaxUint64, Run: func(c *Ctx, _ [][]byte) { c.Out.Error(errNoFunction) }}
}

// functionLook plans what looks at the libraries. If they are settled it takes
// no locks, for what runs may hold them all; in a transaction its answer is part
// of the state, so it does.
func functionLook(run func(*Ctx, [][]byte)) func(*Planning, [][]byte) Plan {
	return func(p *Planning, _ [][]byte) Plan {
		switch {
		case p.Logged:
			return Plan{Access: PlanGlobal, Run: run}
		case !p.Programs.Functions.Settled():
			return planLater()
		}
		return Plan{Run: run}
	}
}

// functionWatch is functionLook for what looks at what runs, and must not wait
// for it.
func functionWatch(run func(*Ctx, [][]byte)) func(*Planning, [][]byte) Plan {
	return func(p *Planning, _ [][]byte) Plan {
		if p.Logged {
			return Plan{Access: PlanGlobal, Run: run}
		}
		return Plan{Run: run}
	}
}

func tooManyArguments(subcommand []byte) string { return fmt.Sprintf(errFunctionTooMany, subcommand) }

// answer answers an error's text, or OK.
func (c *Ctx) answer(err error) {
	if err != nil {
		c.Out.Error(err.Error())
		return
	}
	c.Out.OK()
}

func functionLoad(c *Ctx, args [][]byte) {
	at := 2
	replace := false
	for ; at < len(args)-1; at++ {
		if !equalFold(args[at], "replace") {
			c.Out.Error(errFunctionOption + string(args[at]))
			return
		}
		replace = true
	}
	if !c.librarySteps() {
		return
	}
	name, err := c.Programs.Functions.Load(args[at], replace, c.Settings.functionLimits(), c.TxnNo, c.payLoading)
	if err != nil {
		c.Out.Error(err.Error())
		return
	}
	c.Out.BulkString(name)
}

// librarySteps counts the steps for going through the libraries that are there.
func (c *Ctx) librarySteps() bool {
	libraries, functions, _ := c.Programs.Functions.Count()
	return c.steps(int64(libraries+functions) / stepPending)
}

// payLoading takes the work of compiling a library, and of loading it.
func (c *Ctx) payLoading(work int64) error {
	if !c.announce(work) {
		return errors.New(ErrWork)
	}
	return nil
}

func functionDelete(c *Ctx, args [][]byte) {
	if !c.librarySteps() {
		return
	}
	c.answer(c.Programs.Functions.Delete(string(args[2]), c.TxnNo))
}

func functionFlush(c *Ctx, args [][]byte) {
	switch {
	case len(args) > 3:
		c.Out.Error(tooManyArguments(args[1]))
	case len(args) == 3 && !equalFold(args[2], "sync") && !equalFold(args[2], "async"):
		c.Out.Error(errFunctionFlush)
	default:
		c.Programs.Functions.Flush(c.TxnNo)
		c.Out.OK()
	}
}

func functionDump(c *Ctx, _ [][]byte) {
	var sources [][]byte
	for _, l := range c.Programs.Functions.Libraries() {
		sources = append(sources, l.Source)
	}
	c.Out.Bulk(rdb.AppendFunctions(nil, sources))
}

func functionRestore(c *Ctx, args [][]byte) {
	policy := script.Append
	switch {
	case len(args) > 4:
		c.Out.Error(tooManyArguments(args[1]))
		return
	case len(args) == 3 || equalFold(args[3], "append"):
	case equalFold(args[3], "replace"):
		policy = script.Replace
	case equalFold(args[3], "flush"):
		policy = script.Clear
	default:
		c.Out.Error(errFunctionPolicy)
		return
	}
	sources, err := rdb.ReadFunctions(args[2], int(c.Settings.FunctionBytesMax))
	switch {
	case errors.Is(err, rdb.ErrChecksum):
		c.Out.Error(ErrBadDump)
	case errors.Is(err, rdb.ErrType):
		c.Out.Error(errFunctionType)
	case err != nil:
		c.Out.Error(errFunctionCut)
	case c.librarySteps():
		c.answer(c.Programs.Functions.Restore(sources, policy, c.Settings.functionLimits(), c.TxnNo, c.payLoading))
	}
}

func functionKill(c *Ctx, _ [][]byte) { c.kill(KindFunction) }

// listing is what FUNCTION LIST is asked for.
type listing struct {
	pattern         []byte
	named, withCode bool
}

// listingOf reads the arguments, or says what is wrong.
func listingOf(args [][]byte) (l listing, refusal string) {
	for i := 2; i < len(args); i++ {
		switch {
		case !l.withCode && equalFold(args[i], "withcode"):
			l.withCode = true
		case !l.named && equalFold(args[i], "libraryname"):
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

func functionList(c *Ctx, args [][]byte) {
	l, refusal := listingOf(args)
	if refusal != "" {
		c.Out.Error(refusal)
		return
	}
	if !c.librarySteps() {
		return
	}
	begin, n := c.Out.Len(), 0
	for _, lib := range c.Programs.Functions.Libraries() {
		if !l.named || c.matches(l.pattern, []byte(lib.Name), true) {
			c.writeLibrary(lib, l.withCode)
			n++
		}
	}
	if !c.outOfTries(begin) {
		c.Out.ArrayFrom(begin, n)
	}
}

func (c *Ctx) writeLibrary(l *script.Library, withCode bool) {
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
		c.writeFunction(f)
	}
	if withCode {
		c.Out.BulkString("library_code")
		c.Out.Bulk(l.Source)
	}
}

func (c *Ctx) writeFunction(f *script.Function) {
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

// functionStats tells of the function that has run for longest. In a transaction
// nothing else runs.
func functionStats(c *Ctx, _ [][]byte) {
	c.Out.Map(2)
	c.Out.BulkString("running_script")
	if p := c.Programs.Running.oldest(KindFunction); p == nil || c.Logged {
		c.Out.Null()
	} else {
		c.Out.Map(3)
		c.Out.BulkString("name")
		c.Out.BulkString(p.name)
		c.Out.BulkString("command")
		c.Out.Array(len(p.command))
		for _, a := range p.command {
			c.Out.Bulk(a)
		}
		c.Out.BulkString("duration_ms")
		c.Out.Int(max(0, c.clockMs()-p.beganMs))
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
