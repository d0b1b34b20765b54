package client

import (
	"slices"

	"lockstep/engine/command"
	"lockstep/proto/tracking"
)

// tracker holds how a client wants to be told about changes of keys that it reads (CLIENT TRACKING).
type tracker struct {
	env      *environment
	listener *listener
	caching  caching
}

// remember registers the keys of a command that is about to be sent.
func (t *tracker) remember(spec *command.Spec, args [][]byte) {
	if t.caching.wants(spec) {
		t.env.backend.Tracking.Register(t.env.shared.id, keysOf(spec, args)...)
	}
}

// author is the id to send with the client's writes, or 0 if there is none.
func (t *tracker) author() uint64 {
	if t.caching.on && t.caching.opt.NoLoop {
		return t.env.shared.id
	}
	return 0
}

// rememberQueue registers the keys of a transaction that is about to be sent. A
// CLIENT CACHING in it runs later, but takes effect at its position. Commands after
// a CLIENT TRACKING are left to doubt.
func (t *tracker) rememberQueue(tx *transaction) {
	if !t.caching.on {
		return
	}
	given := t.caching.given
	for _, q := range tx.queue {
		switch {
		case q.spec.Has(command.Tracks):
			t.caching.given = given
			return
		case q.spec.Has(command.ChoosesCaching):
			t.caching.cache(q.args[2])
		default:
			t.remember(q.spec, q.args)
		}
	}
	t.caching.given = given
}

// doubt sends an invalidation for keys that were read while no registration was possible, or whose
// invalidation may have been sent before the reply. The client must not keep them in its cache. The
// message comes after the reply.
func (t *tracker) doubt(spec *command.Spec, args [][]byte) {
	k := &t.caching
	if !k.wants(spec) && !(k.on && k.opt.BCast && reads(spec)) {
		return
	}
	for _, key := range keysOf(spec, args) {
		if k.hears(key) {
			t.listener.pushes.Invalidate(tracking.Doubt(key))
		}
	}
}

// untrack turns tracking off.
func (t *tracker) untrack() {
	if t.caching.on {
		t.env.backend.Tracking.Remove(t.env.shared.id)
		t.listener.pushes.aim(0)
	}
	t.caching = caching{}
}

// parseTracking reads the options.
func (t *tracker) parseTracking(args [][]byte) (next caching, refusal string) {
	next.on = true
	for i := 0; i < len(args); i++ {
		more := i+1 < len(args)
		switch word := fold(args[i]); {
		case word == "redirect" && more:
			i++
			if next.redirect != 0 {
				return next, "ERR A client can only redirect to a single other client"
			}
			id, ok := parseInt(args[i])
			if !ok {
				return next, command.ErrNotInteger
			}
			if t.env.registry.Find(uint64(id)) == nil {
				return next, "ERR The client ID you want redirect to does not exist"
			}
			next.redirect = uint64(id)
		case word == "bcast":
			next.opt.BCast = true
		case word == "optin":
			next.opt.OptIn = true
		case word == "optout":
			next.opt.OptOut = true
		case word == "noloop":
			next.opt.NoLoop = true
		case word == "prefix" && more:
			i++
			next.opt.Prefixes = append(next.opt.Prefixes, string(args[i]))
		default:
			return next, command.ErrSyntax
		}
	}
	return next, ""
}

// track turns tracking on, or changes its options. From here on pushes are held
// while a batch is answered.
func (t *tracker) track(next caching) {
	next.given = t.caching.given
	if next.opt.BCast {
		if len(next.opt.Prefixes) == 0 {
			next.opt.Prefixes = []string{""}
		}
		next.opt.Prefixes = slices.Concat(t.caching.opt.Prefixes, next.opt.Prefixes)
		slices.Sort(next.opt.Prefixes)
		next.opt.Prefixes = slices.Compact(next.opt.Prefixes)
	}
	t.caching = next
	t.listener.listen()
	t.listener.pushes.aim(next.redirect)
	defer t.env.backend.Feeds.AwaitChanges()()
	t.env.backend.Tracking.Set(t.env.shared.id, t.listener.pushes, next.opt)
}
