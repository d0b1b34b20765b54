// Package scriptcmd is the commands that run and store programs: EVAL, FCALL, SCRIPT, FUNCTION and
// their like, and the host that runs the commands of a program.
//
// Rows, FunctionRows and InternalRows have a row for each command. Package script runs Lua.
//
// The locks of a call depend on more than its arguments. So its row has a plan (Spec.Plan), which is
// made at the call's place in the log, before the locks are taken. Host finds the commands that a
// program calls in the table of the context (Ctx.Commands): this package cannot import the table,
// which contains the package's own rows.
package scriptcmd

import (
	"crypto/sha1"
	"errors"
	"fmt"

	"lockstep/engine/command"
	"lockstep/engine/script"
)

// Errors of the commands that run scripts.
const (
	errNoScript     = "NOSCRIPT No matching script. Please use EVAL."
	errNoScriptShow = "NOSCRIPT No matching script."
	errKeysNegative = "ERR Number of keys can't be negative"
	errScriptNotRO  = "ERR Can not execute a script with write flag using *_ro command."
	errNoCluster    = "ERR Can not run script on cluster, 'no-cluster' flag is set."
	errNotBusy      = "NOTBUSY No scripts in execution right now."
	errUnkillable   = "UNKILLABLE Sorry the script is in the log: every replica runs it until it ends or reaches its limits. Calls that waited before the log and were taken back: %d"
	errScriptKilled = "Script killed by user with SCRIPT KILL..."
	errScriptFlush  = "ERR SCRIPT FLUSH only support SYNC|ASYNC option"
	ErrNoDebugger   = "ERR there is no Lua debugger"
	ErrDebugSyntax  = "ERR Use SCRIPT DEBUG YES/SYNC/NO"
)

// programKeys are the keys behind their number, which is the third argument.
func programKeys(flags command.KeyFlag) []command.KeySpec {
	return []command.KeySpec{command.CountedKeys(flags, 2)}
}

// declaredKeys reads the number of keys of EVAL and its like, and separates keys from arguments.
func declaredKeys(args [][]byte) (keys, rest [][]byte, refusal string) {
	n, ok := command.ParseInt(args[2])
	switch {
	case !ok:
		return nil, nil, command.ErrNotInteger
	case n > int64(len(args)-3):
		return nil, nil, command.ErrNumKeysArgs
	case n < 0:
		return nil, nil, errKeysNegative
	}
	return args[3 : 3+n], args[3+n:], ""
}

// planProgram plans the run of a program whose flags are known.
func planProgram(pg program, header script.Header, args [][]byte) command.Plan {
	readOnly := pg.readOnly || header.Flags&script.NoWrites != 0
	plan := command.Plan{Access: command.PlanGlobal, Shared: readOnly, Writes: !readOnly, Program: pg.name(), Run: func(c *command.Ctx, args [][]byte) { runProgram(c, pg, header, args) }}
	if header.Flags&script.AllowKeyLocking != 0 {
		plan.Access = command.PlanKeys
	}
	if _, _, refusal := declaredKeys(args); refusal != "" {
		return planError(refusal)
	}
	return plan
}

// programRefusal returns why a program may not run at all, or "". The order of the checks is
// Redis's.
func programRefusal(c *command.Ctx, pg *program, header script.Header) string {
	flags := header.Flags
	switch {
	case !header.Present:
		return ""
	case c.MemoryFull && flags&(script.AllowOOM|script.NoWrites) == 0:
		// Redis checks this before it calls the program.
		return command.ErrOOM
	case flags&script.NoCluster != 0 && c.Owns != nil:
		return errNoCluster
	case pg.readOnly && flags&(script.NoWrites|script.AllowKeyLocking) == 0:
		// allow-key-locking says how a program locks its keys, not that it writes. A command that
		// reads runs such a program with shared locks.
		return errScriptNotRO
	}
	return ""
}

// runProgram runs a script under the locks that its plan asked for.
func runProgram(c *command.Ctx, pg program, header script.Header, args [][]byte) {
	keys, rest, _ := declaredKeys(args)
	if refusal := programRefusal(c, &pg, header); refusal != "" {
		c.Out.Error(refusal)
		return
	}
	readOnly := pg.readOnly || header.Flags&script.NoWrites != 0
	r := &programRun{}
	r.host = Host{
		Ctx: c, ReadOnly: readOnly, Keys: keys, Owns: c.Owns,
		KeyLocking: header.Flags&script.AllowKeyLocking != 0,
		MemoryFull: c.MemoryFull && header.Flags&script.AllowOOM == 0,
	}
	r.limits = c.Settings.ScriptLimits()
	if r.budget = r.limits.Budget(); c.Budget != nil {
		r.budget = *c.Budget
	}
	before := r.budget.Work
	r.run = script.Run{Keys: keys, Args: rest, Host: &r.host, Limits: &r.limits, Budget: &r.budget, Compiles: pg.compiles, Seed: programSeed(c), Rest: c.Rest}
	r.running = command.RunningProgram{Kind: pg.kind, Killable: !c.Logged, Name: pg.name(), Command: args, BeganMs: c.ClockMs()}
	running := c.Programs.Running.Begin(&r.running)
	defer c.Programs.Running.End(running)
	if !c.Logged {
		r.run.Stop = func() error { return stopped(c, running) }
	}
	if pg.kind == command.KindFunction {
		c.Programs.Interpreters.Call(pg.function, &r.run, c.Out)
	} else {
		c.Programs.Interpreters.Run(pg.script, &r.run, c.Out)
	}
	c.Told = r.run.Told
	c.Budget = &r.budget
	c.Spent(before - r.budget.Work)
}

// programSeed is the seed of a program's random numbers. Each program of a txn gets another one,
// and none gets that of its commands.
func programSeed(c *command.Ctx) uint64 {
	c.ProgramRuns++
	chance := command.NewChance(^c.Seed ^ c.ProgramRuns*0xd1b54a32d192ed03)
	return chance.Next()
}

// programRun holds everything that the run of a program needs, in one allocation.
type programRun struct {
	host    Host
	run     script.Run
	limits  script.Limits
	budget  script.Budget
	running command.RunningProgram
}

// stopped returns the reason why a program that only reads must end, or nil.
func stopped(c *command.Ctx, running *command.RunningProgram) error {
	select {
	case <-running.Killed:
		return errors.New(errScriptKilled)
	default:
	}
	if c.Stop != nil {
		return c.Stop()
	}
	return nil
}

// evalPlan plans EVAL and EVAL_RO.
func evalPlan(readOnly bool) func(*command.Planning, [][]byte) command.Plan {
	return func(p *command.Planning, args [][]byte) command.Plan {
		if _, _, refusal := declaredKeys(args); refusal != "" {
			return planError(refusal)
		}
		cache := &p.Programs.Scripts
		s := p.Script
		if s == nil {
			s = cache.Find(args[1])
		}
		uncached := s == nil
		if uncached {
			var err error
			if s, err = readScript(p, args[1]); err != nil {
				return planError(err.Error())
			}
		}
		if p.Logged {
			s = cache.Keep(s, p.Settings.ScriptCacheLimits())
		}
		plan := planProgram(program{script: s, readOnly: readOnly, compiles: uncached}, s.Header, args)
		if uncached && !p.Logged && s.Compile() == nil {
			plan.Uncached = args[1]
		}
		return plan
	}
}

func readScript(p *command.Planning, source []byte) (*script.Script, error) {
	limits := p.Settings.ScriptLimits()
	return script.Read(source, &limits)
}

// evalLogged decides by the script's first line whether EVAL must enter the log.
func evalLogged(p *command.Programs, args [][]byte) (logged, known bool) {
	if p != nil {
		if s := p.Scripts.Find(args[1]); s != nil {
			return s.Header.Flags&script.NoWrites == 0, true
		}
	}
	header, err := script.ReadHeader(args[1])
	return err == nil && header.Flags&script.NoWrites == 0, true
}

// evalSHAPlan plans EVALSHA and EVALSHA_RO.
func evalSHAPlan(readOnly bool) func(*command.Planning, [][]byte) command.Plan {
	return func(p *command.Planning, args [][]byte) command.Plan {
		if _, _, refusal := declaredKeys(args); refusal != "" && len(args[1]) == 2*sha1.Size {
			return planError(refusal)
		}
		find := p.Programs.Scripts.Get
		if p.Logged {
			find = p.Programs.Scripts.Use
		}
		s := find(string(args[1]))
		if s == nil {
			return planError(errNoScript)
		}
		plan := planProgram(program{script: s, readOnly: readOnly}, s.Header, args)
		run := plan.Run
		plan.Run = func(c *command.Ctx, args [][]byte) {
			if s.Compile() != nil {
				c.Out.Error(errNoScript)
				return
			}
			run(c, args)
		}
		return plan
	}
}

// evalSHALogged looks the script up. The script of a SHA1 never changes, so the knowledge of any
// replica will do. If the script is not known the call enters the log, where it finds the scripts
// that were loaded before it.
func evalSHALogged(p *command.Programs, args [][]byte) (logged, known bool) {
	if p == nil {
		return true, false
	}
	s := p.Scripts.Get(string(args[1]))
	if s == nil {
		return true, false
	}
	return s.Header.Flags&script.NoWrites == 0, true
}

func neverLogged(*command.Programs, [][]byte) (logged, known bool)  { return false, true }
func alwaysLogged(*command.Programs, [][]byte) (logged, known bool) { return true, true }

// runPlanned is the handler of rows whose plan has its own handler.
func runPlanned(c *command.Ctx, args [][]byte) { c.Plan.Run(c, args) }

// runCall is runPlanned for calls of programs. The errors of programs are counted here, because the
// gateway cannot tell which errors were already counted as those of a command.
func runCall(c *command.Ctx, args [][]byte) {
	begin := c.Out.Len()
	c.Told = false
	c.Plan.Run(c, args)
	if failure := failureOf(c.Out.Bytes()[begin:]); failure != nil && !c.Told && c.Witness != nil {
		c.Witness.Raised(failure)
	}
}

// scriptLoadCheck compiles the script before it enters the log. A loaded script gets its place in
// the cache at its place in the log, whether it compiles or not.
func scriptLoadCheck(args [][]byte) string {
	if _, err := script.Compile(args[2], &script.Limits{SourceBytes: len(args[2])}); err != nil {
		return err.Error()
	}
	return ""
}

func scriptLoadPlan(p *command.Planning, args [][]byte) command.Plan {
	given, err := readScript(p, args[2])
	if err != nil {
		return planError(err.Error())
	}
	s, err := p.Programs.Scripts.Load(given, p.Settings.ScriptCacheLimits())
	if err != nil {
		return planError(err.Error())
	}
	return command.Plan{Writes: true, Run: func(c *command.Ctx, _ [][]byte) {
		if s == given {
			c.Did(int(s.CompileWork()))
		}
		if err := s.Compile(); err != nil {
			c.Out.Error(err.Error())
			return
		}
		c.Out.BulkString(s.SHA)
	}}
}

// keepPlan puts a script that a read has evaluated into the cache.
func keepPlan(p *command.Planning, args [][]byte) command.Plan {
	if s, err := readScript(p, args[1]); err == nil {
		p.Programs.Scripts.Keep(s, p.Settings.ScriptCacheLimits())
	}
	return command.Plan{Writes: true, Run: func(c *command.Ctx, _ [][]byte) { c.Out.OK() }}
}

func scriptExistsPlan(p *command.Planning, args [][]byte) command.Plan {
	found := make([]*script.Script, len(args)-2)
	for i, sha := range args[2:] {
		found[i] = p.Programs.Scripts.Get(string(sha))
	}
	return command.Plan{Run: func(c *command.Ctx, _ [][]byte) {
		c.Out.Array(len(found))
		for _, s := range found {
			if s != nil && s.Compile() == nil {
				c.Out.Int(1)
			} else {
				c.Out.Int(0)
			}
		}
	}}
}

func scriptShowPlan(p *command.Planning, args [][]byte) command.Plan {
	s := p.Programs.Scripts.Get(string(args[2]))
	return command.Plan{Run: func(c *command.Ctx, _ [][]byte) {
		if s == nil || s.Compile() != nil {
			c.Out.Error(errNoScriptShow)
			return
		}
		c.Out.BulkString(s.Source)
	}}
}

func scriptFlushPlan(p *command.Planning, args [][]byte) command.Plan {
	if len(args) > 3 || len(args) == 3 && !command.EqualFold(args[2], "sync") && !command.EqualFold(args[2], "async") {
		return planError(errScriptFlush)
	}
	p.Programs.Scripts.Flush()
	return command.Plan{Writes: true, Run: func(c *command.Ctx, _ [][]byte) { c.Out.OK() }}
}

// scriptKillPlan takes no lock, because the program to kill may hold them all.
func scriptKillPlan(*command.Planning, [][]byte) command.Plan {
	return command.Plan{Run: func(c *command.Ctx, _ [][]byte) { kill(c, command.KindScript) }}
}

// kill ends the programs of a kind that can be ended, and takes back calls that wait to enter the
// log. In a transaction nothing else runs, as in Redis.
func kill(c *command.Ctx, kind command.ProgramKind) {
	running, killed, takenBack := 0, 0, 0
	if !c.Logged {
		if c.TakeBack != nil {
			takenBack = c.TakeBack(kind)
		}
		running, killed = c.Programs.Running.Kill(kind)
	}
	switch {
	case running > killed:
		c.Out.Error(fmt.Sprintf(errUnkillable, takenBack))
	case killed+takenBack > 0:
		c.Out.OK()
	default:
		c.Out.Error(errNotBusy)
	}
}
