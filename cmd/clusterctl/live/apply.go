package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/cmd/clusterctl/backup"
	"lockstep/engine/commands"
	"lockstep/engine/hashslot"
)

// errUnsure is returned if it is unknown which commands have run on the cluster.
var errUnsure = errors.New("it is not known whether a command has run on the cluster")

const (
	batchUnitsMax = 256
	batchBytesMax = 1 << 20
)

// unit is a command, or a transaction with its MULTI and EXEC: it runs as one.
type unit struct {
	commands [][]any
	// wide is true if its keys are in several hash slots, which may be in several shards.
	wide bool
}

// applier runs the stream's commands on the cluster.
type applier struct {
	in   *streamReader
	conn *redis.Conn
	// acknowledge is called when the source asks how much of the stream has been received.
	acknowledge func()
	// applied is the offset up to which everything has been applied.
	applied *atomic.Int64
	ran     *atomic.Int64
	batch   []unit
	bytes   int
	// db is the database that the stream has selected.
	db string
}

// run applies the stream until it ends, which is an error.
func (a *applier) run(ctx context.Context) error {
	for {
		before := a.in.offset
		u, err := a.unit()
		if err != nil {
			return err
		}
		if len(u.commands) > 0 {
			if u.wide {
				if err := a.flush(ctx, before); err != nil {
					return err
				}
			}
			a.batch = append(a.batch, u)
			for _, c := range u.commands {
				for _, arg := range c {
					a.bytes += len(arg.(string))
				}
			}
		}
		if u.wide || len(a.batch) >= batchUnitsMax || a.bytes > batchBytesMax || a.in.in.Buffered() == 0 {
			if err := a.flush(ctx, a.in.offset); err != nil {
				return err
			}
		}
	}
}

// unit reads the next unit. A unit without commands changes nothing.
func (a *applier) unit() (unit, error) {
	var u unit
	slots, mark := map[int]bool{}, "0"
	for {
		args, err := a.in.command()
		if err != nil {
			return u, err
		}
		switch name := strings.ToUpper(args[0].(string)); name {
		case "PING", "PUBLISH", "SPUBLISH":
		case "REPLCONF":
			a.acknowledge()
		default:
			if args, err = held(withoutLimit(args), time.Now().UnixMilli()); err != nil {
				return u, err
			}
			u.commands = append(u.commands, args)
			slotsOf(args, slots)
			u.wide = len(slots) > 1
			if name == "SELECT" && len(args) == 2 {
				a.db = args[1].(string)
			}
			if name == "SWAPDB" && len(args) == 3 {
				mark = swapped(mark, args)
			}
			if name != "MULTI" && (name == "EXEC" || strings.ToUpper(u.commands[0][0].(string)) != "MULTI") {
				if mark != "0" {
					// A new mark is made at the old place.
					u.commands = append(u.commands, []any{"SELECT", mark}, []any{"DEL", backup.MarkKey}, []any{"SELECT", a.db})
				}
				return u, nil
			}
			continue
		}
		if len(u.commands) == 0 {
			return u, nil
		}
	}
}

// withoutLimit removes LIMIT from XADD and XTRIM. A source writes the exact trim threshold into its
// stream and keeps a limit that no longer means anything. Replicas ignore the limit, but a client
// that sends it gets an error.
func withoutLimit(args []any) []any {
	name := strings.ToUpper(args[0].(string))
	if name != "XADD" && name != "XTRIM" {
		return args
	}
	// key [NOMKSTREAM] MAXLEN|MINID [=|~] threshold [LIMIT count]
	i := 2
	if len(args) > i && strings.EqualFold(args[i].(string), "NOMKSTREAM") {
		i++
	}
	if limit := i + 3; len(args) > limit+1 && isTrimming(args[i]) && args[i+1] == "=" && strings.EqualFold(args[limit].(string), "LIMIT") {
		return slices.Delete(slices.Clone(args), limit, limit+2)
	}
	return args
}

func isTrimming(arg any) bool {
	word := strings.ToUpper(arg.(string))
	return word == "MAXLEN" || word == "MINID"
}

// swapped returns the database that holds, after a SWAPDB, the former contents of database db. A
// transaction may have several SWAPDBs.
func swapped(db string, args []any) string {
	switch db {
	case args[1].(string):
		return args[2].(string)
	case args[2].(string):
		return args[1].(string)
	}
	return db
}

// slotsOf adds the hash slots of a command's keys.
func slotsOf(args []any, slots map[int]bool) {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a.(string))
	}
	spec, _ := commands.Lookup(words)
	if spec == nil || !spec.CheckArity(len(words)) {
		return
	}
	for _, k := range spec.AppendKeys(nil, words) {
		slots[hashslot.Of(words[k.Pos])] = true
	}
}

// flush runs the gathered commands in one pipeline. They are everything in the stream up to an
// offset: the cut-over ends the applier once everything is applied.
func (a *applier) flush(ctx context.Context, upTo int64) error {
	batch := a.batch
	a.batch, a.bytes = nil, 0
	if len(batch) > 0 {
		err := a.send(ctx, batch)
		if errors.Is(err, errAcross) {
			err = a.split(ctx, &batch[0])
		}
		if err != nil {
			return err
		}
		a.ran.Add(int64(len(batch)))
	}
	a.applied.Store(upTo)
	return nil
}

// errAcross is returned if the unit was refused because its keys are in several shards.
// Nothing of it has run.
var errAcross = errors.New("keys of several shards")

func (a *applier) send(ctx context.Context, batch []unit) error {
	pipe := a.conn.Pipeline()
	for i := range batch {
		for _, c := range batch[i].commands {
			pipe.Do(ctx, c...)
		}
	}
	replies, err := pipe.Exec(ctx)
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) {
		return fmt.Errorf("%w: %w", errUnsure, err)
	}
	for _, r := range replies {
		err := r.Err()
		if err == nil {
			err = failedInside(r)
		}
		switch {
		case err == nil, errors.Is(err, redis.Nil):
			continue
		case len(batch) == 1 && batch[0].wide && strings.Contains(err.Error(), "CROSSSLOT"):
			return errAcross
		case temporary(err):
			return fmt.Errorf("%w: %w", errUnsure, err)
		}
		return fmt.Errorf("the cluster refuses a command of the source, %.60q: %w", fmt.Sprint(r.Args()...), err)
	}
	return nil
}

// failedInside returns an error among the replies of a transaction, whose commands ran on the
// source without one.
func failedInside(r redis.Cmder) error {
	c, ok := r.(*redis.Cmd)
	if !ok || !strings.EqualFold(c.Name(), "exec") {
		return nil
	}
	answers, _ := c.Val().([]any)
	for _, a := range answers {
		if err, failed := a.(error); failed && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	return nil
}

// temporary reports an error after which later commands of the same pipeline may have run.
func temporary(err error) bool {
	for _, prefix := range []string{"OVERLOADED", "CLUSTERDOWN", "INDETERMINATE", "LOADING", "TRYAGAIN", "EXECABORT"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

// split runs a unit that no single shard can run. It runs the commands of a transaction
// one after the other, and commands whose arguments are keys, or keys and values, key by
// key. Clients then see in steps what the source did at once.
func (a *applier) split(ctx context.Context, u *unit) error {
	for _, c := range u.commands {
		name := strings.ToUpper(c[0].(string))
		if name == "MULTI" || name == "EXEC" {
			continue
		}
		parts := [][]any{c}
		slots := map[int]bool{}
		if slotsOf(c, slots); len(slots) > 1 {
			parts = partsOf(name, c)
		}
		for _, p := range parts {
			err := a.send(ctx, []unit{{commands: [][]any{p}, wide: true}})
			if errors.Is(err, errAcross) {
				return fmt.Errorf("the source runs %s on keys that are of several shards here; a cluster of one shard takes it", name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func partsOf(name string, c []any) [][]any {
	var parts [][]any
	switch step := map[string]int{"DEL": 1, "UNLINK": 1, "MSET": 2}[name]; {
	case step == 0 || (len(c)-1)%step != 0:
		parts = [][]any{c}
	default:
		for i := 1; i < len(c); i += step {
			parts = append(parts, append([]any{c[0]}, c[i:i+step]...))
		}
	}
	return parts
}
