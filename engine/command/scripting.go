package command

import (
	"crypto/sha1"
	"errors"
	"fmt"

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

// programKeys are the keys behind their number, the third argument.
func programKeys(flags KeyFlag) []KeySpec { return []KeySpec{countedKeys(flags, 2)} }

// declaredKeys reads the number of keys of EVAL and its like, and parts keys
// from arguments.
func declaredKeys(args [][]byte) (keys, rest [][]byte, refusal string) {
	n, ok := parseInt(args[2])
	switch {
	case !ok:
		return nil, nil, ErrNotInteger
	case n > int64(len(args)-3):
		return nil, nil, ErrNumKeysArgs
	case n < 0:
		return nil, nil, errKeysNegative
	}
	return args[3 : 3+n], args[3+n:], ""
}

// planProgram plans the run of a program whose flags are known.
func planProgram(pg program, header script.Header, args [][]byte) Plan {
	readOnly := pg.readOnly || header.Flags&script.NoWrites != 0
	plan := Plan{Access: PlanGlobal, Shared: readOnly, Writes: !readOnly, Program: pg.name(), Run: func(c *Ctx, args [][]byte) { c.runProgram(pg, header, args) }}
	if header.Flags&script.AllowKeyLocking != 0 {
		plan.Access = PlanKeys
	}
	if _, _, refusal := declaredKeys(args); refusal != "" {
		return planError(refusal)
	}
	return plan
}

// programRefusal is why a program may not run at all. The order is Redis's.
func (c *Ctx) programRefusal(pg *program, header script.Header) string {
	flags := header.Flags
	switch {
	case !header.Present:
		return ""
	case c.MemoryFull && flags&(script.AllowOOM|script.NoWrites) == 0:
		// Redis knows it before it calls the program.
		return ErrOOM
	case flags&script.NoCluster != 0 && c.Owns != nil:
		return errNoCluster
	case pg.readOnly && flags&(script.NoWrites|script.AllowKeyLocking) == 0:
		// allow-key-locking says how a program locks its keys, not that it writes: called
		// by a command that reads, it locks them shared.
		return errScriptNotRO
	}
	return ""
}

// runProgram runs a script under the locks that its plan asked for.
func (c *Ctx) runProgram(pg program, header script.Header, args [][]byte) {
	keys, rest, _ := declaredKeys(args)
	if refusal := c.programRefusal(&pg, header); refusal != "" {
		c.Out.Error(refusal)
		return
	}
	readOnly := pg.readOnly || header.Flags&script.NoWrites != 0
	r := &programRun{}
	r.host = ScriptHost{
		Ctx: c, ReadOnly: readOnly, Keys: keys, Owns: c.Owns,
		KeyLocking: header.Flags&script.AllowKeyLocking != 0,
		MemoryFull: c.MemoryFull && header.Flags&script.AllowOOM == 0,
	}
	r.limits = c.Settings.scriptLimits()
	if r.budget = r.limits.Budget(); c.Budget != nil {
		r.budget = *c.Budget
	}
	before := r.budget.Work
	r.run = script.Run{Keys: keys, Args: rest, Host: &r.host, Limits: &r.limits, Budget: &r.budget, Compiles: pg.compiles, Seed: c.programSeed(), Rest: c.Rest}
	r.running = RunningProgram{kind: pg.kind, killable: !c.Logged, name: pg.name(), command: args, beganMs: c.clockMs()}
	running := c.Programs.Running.begin(&r.running)
	defer c.Programs.Running.end(running)
	if !c.Logged {
		r.run.Stop = func() error { return c.stopped(running) }
	}
	if pg.kind == KindFunction {
		c.Programs.Interpreters.Call(pg.function, &r.run, c.Out)
	} else {
		c.Programs.Interpreters.Run(pg.script, &r.run, c.Out)
	}
	c.told = r.run.Told
	c.Budget = &r.budget
	c.work += before - r.budget.Work
}

// programSeed is what a program draws from: another one for each of a txn, and
// not what its commands draw from.
func (c *Ctx) programSeed() uint64 {
	c.programRuns++
	chance := Chance{^c.Seed ^ c.programRuns*0xd1b54a32d192ed03}
	return chance.Next()
}

// programRun is what the run of a program needs, in one piece.
type programRun struct {
	host    ScriptHost
	run     script.Run
	limits  script.Limits
	budget  script.Budget
	running RunningProgram
}

// stopped tells whether, and why, a program that only reads must end.
func (c *Ctx) stopped(running *RunningProgram) error {
	select {
	case <-running.killed:
		return errors.New(errScriptKilled)
	default:
	}
	if c.Stop != nil {
		return c.Stop()
	}
	return nil
}

// evalPlan plans EVAL and EVAL_RO.
func evalPlan(readOnly bool) func(*Planning, [][]byte) Plan {
	return func(p *Planning, args [][]byte) Plan {
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
			s = cache.Keep(s, p.Settings.scriptCacheLimits())
		}
		plan := planProgram(program{script: s, readOnly: readOnly, compiles: uncached}, s.Header, args)
		if uncached && !p.Logged && s.Compile() == nil {
			plan.Uncached = args[1]
		}
		return plan
	}
}

func readScript(p *Planning, source []byte) (*script.Script, error) {
	limits := p.Settings.scriptLimits()
	return script.Read(source, &limits)
}

// evalLogged tells by the first line whether EVAL must enter the log.
func evalLogged(p *Programs, args [][]byte) (logged, known bool) {
	if p != nil {
		if s := p.Scripts.Find(args[1]); s != nil {
			return s.Header.Flags&script.NoWrites == 0, true
		}
	}
	header, err := script.ReadHeader(args[1])
	return err == nil && header.Flags&script.NoWrites == 0, true
}

// evalSHAPlan plans EVALSHA and EVALSHA_RO.
func evalSHAPlan(readOnly bool) func(*Planning, [][]byte) Plan {
	return func(p *Planning, args [][]byte) Plan {
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
		plan.Run = func(c *Ctx, args [][]byte) {
			if s.Compile() != nil {
				c.Out.Error(errNoScript)
				return
			}
			run(c, args)
		}
		return plan
	}
}

// evalSHALogged looks for the script: what a SHA1 stands for never changes, so
// any replica's knowledge will do. Where it is not known the call enters the
// log, where it finds what was loaded before it.
func evalSHALogged(p *Programs, args [][]byte) (logged, known bool) {
	if p == nil {
		return true, false
	}
	s := p.Scripts.Get(string(args[1]))
	if s == nil {
		return true, false
	}
	return s.Header.Flags&script.NoWrites == 0, true
}

func neverLogged(*Programs, [][]byte) (logged, known bool)  { return false, true }
func alwaysLogged(*Programs, [][]byte) (logged, known bool) { return true, true }

// runPlanned is the handler of rows whose plan brings its own.
func runPlanned(c *Ctx, args [][]byte) { c.Plan.Run(c, args) }

// runCall is runPlanned for calls of programs. Their errors are counted where they run,
// for the gateway cannot tell those that have been counted as a command's.
func runCall(c *Ctx, args [][]byte) {
	begin := c.Out.Len()
	c.told = false
	c.Plan.Run(c, args)
	if failure := failureOf(c.Out.Bytes()[begin:]); failure != nil && !c.told && c.Witness != nil {
		c.Witness.Raised(failure)
	}
}

// scriptLoadCheck compiles the script before it travels: one that is loaded takes
// its place in the cache at its place in the log, compiled or not.
func scriptLoadCheck(args [][]byte) string {
	if _, err := script.Compile(args[2], &script.Limits{SourceBytes: len(args[2])}); err != nil {
		return err.Error()
	}
	return ""
}

func scriptLoadPlan(p *Planning, args [][]byte) Plan {
	given, err := readScript(p, args[2])
	if err != nil {
		return planError(err.Error())
	}
	s, err := p.Programs.Scripts.Load(given, p.Settings.scriptCacheLimits())
	if err != nil {
		return planError(err.Error())
	}
	return Plan{Writes: true, Run: func(c *Ctx, _ [][]byte) {
		if s == given {
			c.did(int(s.CompileWork()))
		}
		if err := s.Compile(); err != nil {
			c.Out.Error(err.Error())
			return
		}
		c.Out.BulkString(s.SHA)
	}}
}

// keepPlan puts a script into the cache that was evaluated by a read.
func keepPlan(p *Planning, args [][]byte) Plan {
	if s, err := readScript(p, args[1]); err == nil {
		p.Programs.Scripts.Keep(s, p.Settings.scriptCacheLimits())
	}
	return Plan{Writes: true, Run: func(c *Ctx, _ [][]byte) { c.Out.OK() }}
}

func scriptExistsPlan(p *Planning, args [][]byte) Plan {
	found := make([]*script.Script, len(args)-2)
	for i, sha := range args[2:] {
		found[i] = p.Programs.Scripts.Get(string(sha))
	}
	return Plan{Run: func(c *Ctx, _ [][]byte) {
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

func scriptShowPlan(p *Planning, args [][]byte) Plan {
	s := p.Programs.Scripts.Get(string(args[2]))
	return Plan{Run: func(c *Ctx, _ [][]byte) {
		if s == nil || s.Compile() != nil {
			c.Out.Error(errNoScriptShow)
			return
		}
		c.Out.BulkString(s.Source)
	}}
}

func scriptFlushPlan(p *Planning, args [][]byte) Plan {
	if len(args) > 3 || len(args) == 3 && !equalFold(args[2], "sync") && !equalFold(args[2], "async") {
		return planError(errScriptFlush)
	}
	p.Programs.Scripts.Flush()
	return Plan{Writes: true, Run: func(c *Ctx, _ [][]byte) { c.Out.OK() }}
}

// scriptKillPlan takes no lock: what is to be killed may hold them all.
func scriptKillPlan(*Planning, [][]byte) Plan {
	return Plan{Run: func(c *Ctx, _ [][]byte) { c.kill(KindScript) }}
}

// kill ends what can be ended of a kind, and takes back what waits before the log. In a
// transaction nothing else runs, as in Redis.
func (c *Ctx) kill(kind ProgramKind) {
	running, killed, takenBack := 0, 0, 0
	if !c.Logged {
		if c.TakeBack != nil {
			takenBack = c.TakeBack(kind)
		}
		running, killed = c.Programs.Running.kill(kind)
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
