package hashcmd

import (
	"math"

	"lockstep/engine/command"
	"lockstep/engine/hash"
	"lockstep/engine/sched"
)

func runHGetDel(c *command.Ctx, args [][]byte) {
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	names, ok := fieldList(c, args[2:], ErrNumFields)
	if !ok {
		return
	}
	c.Out.Array(len(names))
	if !anyField(c, h, names) {
		for range names {
			c.Out.Null()
		}
		return
	}
	editHash(c, args[1], e, func(h *hash.Hash) {
		for _, name := range names {
			writeField(c, h, name)
			h.Delete(name)
		}
		c.Notify(command.EventHash, "hdel", args[1])
	})
}

// hGetExMode: without an option HGETEX only reads.
func hGetExMode(args [][]byte) sched.Mode {
	if len(args) > 2 && command.EqualFold(args[2], "fields") {
		return sched.Shared
	}
	return sched.Exclusive
}

func runHGetEx(c *command.Ctx, args [][]byte) {
	if hGetExMode(args) == sched.Shared {
		readHashFields(c, args)
		return
	}
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	rest := args[2:]
	x := fieldExpiry{kind: command.ExpiryKindOf(rest[0])}
	switch {
	case x.kind != command.ExpiryNone:
		if x.atMs, ok = fieldExpiryArg(c, x.kind, rest[1], "hgetex"); !ok {
			return
		}
		rest = rest[2:]
	case command.EqualFold(rest[0], "persist"):
		rest = rest[1:]
	}
	names, ok := fieldList(c, rest, ErrNumFields)
	if !ok {
		return
	}
	c.Out.Array(len(names))
	if !x.changesAny(c, h, names) {
		for _, name := range names {
			writeField(c, h, name)
		}
		return
	}
	editHash(c, args[1], e, func(h *hash.Hash) {
		for _, name := range names {
			writeField(c, h, name)
			x.apply(c, h, name)
		}
		c.Notify(command.EventHash, x.event(c), args[1])
	})
}

// fieldExpiry is what HGETEX and HSETEX do to the expiry of a field. They set it, or remove it if
// there is no kind.
type fieldExpiry struct {
	kind command.ExpiryKind
	atMs int64
}

// past reports whether a field with this expiry is gone at once.
func (x *fieldExpiry) past(c *command.Ctx) bool {
	return x.kind != command.ExpiryNone && x.atMs <= c.NowMs
}

// changesAny reports whether the expiry changes one of the fields.
func (x *fieldExpiry) changesAny(c *command.Ctx, h *hash.Hash, names [][]byte) bool {
	for _, name := range names {
		if f, there := LiveField(c, h, name); there && (x.kind != command.ExpiryNone || f.ExpireAtMs != 0) {
			return true
		}
	}
	return false
}

func (x *fieldExpiry) apply(c *command.Ctx, h *hash.Hash, name []byte) {
	if x.past(c) {
		h.Delete(name)
		return
	}
	h.SetExpiry(name, x.atMs)
}

func (x *fieldExpiry) event(c *command.Ctx) string {
	switch {
	case x.kind == command.ExpiryNone:
		return "hpersist"
	case x.past(c):
		return "hdel"
	}
	return "hexpire"
}

// readHashFields is HGETEX without an option.
func readHashFields(c *command.Ctx, args [][]byte) {
	h, ok := readHash(c, args[1])
	if !ok {
		return
	}
	names, ok := fieldList(c, args[2:], ErrNumFields)
	if !ok {
		return
	}
	c.Out.Array(len(names))
	for _, name := range names {
		writeField(c, h, name)
	}
}

// hSetExOptions are the options of HSETEX, and the fields behind them.
type hSetExOptions struct {
	// onlyNew sets the fields if none exists, onlyOld if all exist.
	onlyNew, onlyOld, keep bool
	expiry                 fieldExpiry
	// pairs are fields and values.
	pairs [][]byte
}

// parse reads the arguments behind the key. It answers the error itself.
func (o *hSetExOptions) parse(c *command.Ctx, args [][]byte) bool {
	for i := 0; i < len(args); i++ {
		kind := command.ExpiryKindOf(args[i])
		fnx, fxx := command.EqualFold(args[i], "fnx"), command.EqualFold(args[i], "fxx")
		keep := command.EqualFold(args[i], "keepttl")
		switch {
		case command.EqualFold(args[i], "fields"):
			return o.parsePairs(c, args[i+1:])
		case (kind != command.ExpiryNone || keep) && (o.expiry.kind != command.ExpiryNone || o.keep):
			c.Out.Error(ErrFieldExpireMany)
			return false
		case keep:
			o.keep = true
		case kind != command.ExpiryNone:
			i++
			if i == len(args) {
				c.Out.Error(ErrFieldExpireNone)
				return false
			}
			var ok bool
			o.expiry.kind = kind
			if o.expiry.atMs, ok = fieldExpiryArg(c, kind, args[i], "hsetex"); !ok {
				return false
			}
		case fnx || fxx:
			if o.onlyNew || o.onlyOld {
				c.Out.Error(ErrFieldCondition)
				return false
			}
			o.onlyNew, o.onlyOld = fnx, fxx
		default:
			c.Out.Error("ERR unknown argument: " + string(command.Clip(args[i], len(args[i]))))
			return false
		}
	}
	// Redis gives up here.
	c.Out.Error(ErrFieldsMissing)
	return false
}

// parsePairs reads the number of fields and the fields with their values.
func (o *hSetExOptions) parsePairs(c *command.Ctx, args [][]byte) bool {
	if len(args) < 3 {
		c.Out.Error(command.ErrArityOf("hsetex"))
		return false
	}
	n, ok := command.ParseInt(args[0])
	if !ok || n < 1 || n > math.MaxInt32 {
		c.Out.Error(ErrNumFieldsSetEx)
		return false
	}
	o.pairs = args[1:]
	if int64(len(o.pairs)) != 2*n {
		c.Out.Error(command.ErrArityOf("hsetex"))
		return false
	}
	return true
}

// allowed reports whether the condition FNX or FXX holds.
func (o *hSetExOptions) allowed(c *command.Ctx, h *hash.Hash) bool {
	for i := 0; i < len(o.pairs) && (o.onlyNew || o.onlyOld); i += 2 {
		if _, there := LiveField(c, h, o.pairs[i]); there != o.onlyOld {
			return false
		}
	}
	return true
}

func runHSetEx(c *command.Ctx, args [][]byte) {
	var o hSetExOptions
	if !o.parse(c, args[2:]) {
		return
	}
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	if !o.allowed(c, h) {
		c.Out.Int(0)
		return
	}
	limits := hashLimits(c)
	editHash(c, args[1], e, func(h *hash.Hash) {
		h.Reserve(o.pairs, limits)
		for i := 0; i < len(o.pairs); i += 2 {
			o.set(c, h, hash.Field{Name: o.pairs[i], Value: o.pairs[i+1]}, limits)
		}
		c.Notify(command.EventHash, "hset", args[1])
		if o.expiry.kind != command.ExpiryNone {
			c.Notify(command.EventHash, o.expiry.event(c), args[1])
		}
	})
	c.Out.Int(1)
}

// set sets one field.
func (o *hSetExOptions) set(c *command.Ctx, h *hash.Hash, f hash.Field, limits hash.Limits) {
	if o.expiry.past(c) {
		h.Delete(f.Name)
		return
	}
	f.ExpireAtMs = o.expiry.atMs
	if o.keep {
		old, _ := LiveField(c, h, f.Name)
		f.ExpireAtMs = old.ExpireAtMs
	}
	h.Set(f, limits)
}
