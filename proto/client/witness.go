package client

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/acl"
	"lockstep/proto/pubsub"
	"lockstep/proto/stats"
)

// ScriptWitness is a node's command.Witness. The commands of the scripts that run here for a
// client, wherever it is connected, show in this node's MONITOR, SLOWLOG, INFO commandstats and
// log. Their published messages go to all nodes. The client's own node records forbidden commands
// in ACL LOG, and also shows the scripts' commands in MONITOR; if it is another node, it is sent a
// notice (notice.go).
type ScriptWitness struct {
	Stats    *stats.Stats
	Registry *Registry
	Logger   *slog.Logger
	// Deliver hands a message to the subscribers of all nodes.
	Deliver func(kind pubsub.Kind, channel, payload []byte)
	// Logs are slowlog-log-slower-than in microseconds, slowlog-max-len and
	// acllog-max-len.
	Logs func() (slowerThanUs int64, slowlogLen, aclLogLen int)
	// Self is this node's incarnation, and Tell sends a notice to another node: soon, if there is
	// room. They are nil if there is no other node.
	Self func() uint64
	Tell func(node uint64, notice []byte)

	lines lineLimit
}

// scriptAddr is the address that MONITOR shows for a script's commands, slowAddr
// the one in SLOWLOG.
const (
	scriptAddr = "lua"
	slowAddr   = "?:0"
)

var processBegan = time.Now()

// Began implements command.Witness.
func (w *ScriptWitness) Began() int64 { return int64(time.Since(processBegan)) }

// Ended implements command.Witness.
func (w *ScriptWitness) Ended(by command.Caller, mark int64, spec *command.Spec, args [][]byte, db int, failure []byte) {
	took := time.Since(processBegan) - time.Duration(mark)
	w.Stats.Ran(spec, took, failure != nil)
	if failure != nil {
		w.Stats.CountError(failure)
	}
	if slower, length, _ := w.Logs(); stats.IsSlow(spec, took, slower, length) {
		w.Stats.Slowlog.Add(stats.SlowEntry{UnixSec: time.Now().Unix(), Usec: took.Microseconds(), Args: stats.SlowArgs(spec, args), Addr: slowAddr}, length)
	}
	all, elsewhere := w.Registry.monitors.all.Load(), by.Watched && w.elsewhere(by)
	if all == nil && !elsewhere || hidden(spec) {
		return
	}
	l := monitorLine(time.Now(), db, scriptAddr, spec, args)
	if all != nil {
		showLine(*all, l)
	}
	if elsewhere {
		w.Tell(by.Node, lineNotice(l))
	}
}

// Raised implements command.Witness.
func (w *ScriptWitness) Raised(failure []byte) { w.Stats.CountError(failure) }

// elsewhere reports whether a caller is a client of another node.
func (w *ScriptWitness) elsewhere(by command.Caller) bool {
	return by.Node != 0 && w.Tell != nil && by.Node != w.Self()
}

// Refused implements command.Witness.
func (w *ScriptWitness) Refused(by command.Caller, user command.User, spec *command.Spec, args [][]byte, d command.Denial, failure []byte) {
	w.Stats.CountError(failure)
	if spec == nil {
		return
	}
	w.Stats.Rejected(spec)
	e := acl.Entry{Context: scriptAddr, Client: "addr=" + slowAddr + " cmd=" + spec.Name}
	switch d.Reason {
	case command.Allowed:
		return
	case command.DeniedCommand:
		e.Reason, e.Object = "command", spec.Name
	case command.DeniedKey:
		e.Reason, e.Object = "key", string(args[d.Arg])
	case command.DeniedChannel:
		e.Reason, e.Object = "channel", string(args[d.Arg])
	}
	if named, ok := user.(interface{ UserName() string }); ok {
		e.User = named.UserName()
	}
	if w.elsewhere(by) {
		w.Tell(by.Node, refusalNotice(by.Client, &e))
		return
	}
	w.refused(by.Client, e)
}

// refused puts a refusal into this node's ACL LOG, for one of its clients or for an
// unknown caller.
func (w *ScriptWitness) refused(client uint64, e acl.Entry) {
	e.At = time.Now()
	if c := w.Registry.Find(client); c != nil {
		e.Client = c.Line(e.At)
	}
	_, _, length := w.Logs()
	w.Stats.ACLLog.Add(e, length)
}

// Publish implements command.Witness.
func (w *ScriptWitness) Publish(sharded bool, channel string, payload []byte) {
	kind := pubsub.Channel
	if sharded {
		kind = pubsub.Shard
	}
	w.Deliver(kind, []byte(channel), payload)
}

// scriptLevels are the log levels for those of redis.log.
var scriptLevels = [...]slog.Level{slog.LevelDebug, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn}

// Log implements command.Witness.
func (w *ScriptWitness) Log(level int, text string) {
	ctx := context.Background()
	if !w.Logger.Enabled(ctx, scriptLevels[level]) {
		return
	}
	admitted, dropped := w.lines.admit(time.Now().Unix())
	if dropped > 0 {
		w.Logger.Warn("scripts said more than the log takes", "lines", dropped)
	}
	if admitted {
		w.Logger.Log(ctx, scriptLevels[level], "a script says", "text", text)
	}
}

// lineLimit bounds the log lines per second.
type lineLimit struct {
	mu         sync.Mutex // guards what follows
	second     int64
	n, dropped int
}

// linesMax is how many lines of scripts the log takes per second.
const linesMax = 100

// admit reports whether a line may be logged, and how many lines were dropped in the last second
// that had any.
func (l *lineLimit) admit(second int64) (ok bool, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if second != l.second {
		dropped = l.dropped
		l.second, l.n, l.dropped = second, 0, 0
	}
	if l.n++; l.n > linesMax {
		l.dropped++
		return false, dropped
	}
	return true, dropped
}
