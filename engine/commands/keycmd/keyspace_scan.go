package keycmd

import (
	"errors"

	"lockstep/engine"
	"lockstep/engine/command"
)

func runKeys(c *command.Ctx, args [][]byte) {
	if !slotSteps(c) {
		return
	}
	filter := newKeyFilter(args[1])
	begin := c.Out.Len()
	var keys []string
	visited, enough := 0, true
	err := walkAll(c, c.DB, func(e *engine.Entry) bool {
		// Steps are taken during the walk, not at its end: a transaction without steps may ask
		// again.
		if visited++; visited%command.StepKeys == 0 {
			enough = c.TakeSteps(1)
		}
		if enough && filter.admits(c, e) {
			keys = append(keys, e.Key())
		}
		return enough && !c.TriesOver
	})
	switch {
	case err != nil:
		failWalk(c, err)
	case !enough:
		c.Out.Error(command.ErrWork)
	case !c.OutOfTries(begin):
		writeKeys(c, keys)
	}
}

// slotSteps counts the steps for walking over all lock slots, keys or not.
func slotSteps(c *command.Ctx) bool { return c.Steps(int64(c.KS.LockSlots()) / command.StepKeys) }

func writeKeys(c *command.Ctx, keys []string) {
	c.Out.Array(len(keys))
	for _, key := range keys {
		c.Out.BulkString(key)
	}
}

// runScan walks on from a cursor, which is a place in the database. So a scan that continues on
// another node, or after a restart, misses no key that exists all the time, and returns no key
// twice unless the key was renamed.
func runScan(c *command.Ctx, args [][]byte) {
	from, ok := c.CursorArg(args[1])
	if !ok {
		return
	}
	var o command.ScanOptions
	var kind []byte
	typed := false
	ofKind := func(args [][]byte) (taken int) {
		if len(args) > 1 && command.EqualFold(args[0], "type") {
			kind, taken, typed = args[1], 2, true
		}
		return taken
	}
	if !o.Parse(c, args[2:], ofKind) || !c.Steps(int64(o.Count)/command.StepKeys) {
		return
	}
	filter := keyFilter{o.Pattern, typed, kind}
	begin := c.Out.Len()
	var keys []string
	next, more, walked, err := walk(c, c.DB, from, o.Count, func(e *engine.Entry) bool {
		if filter.admits(c, e) {
			keys = append(keys, e.Key())
		}
		return !c.TriesOver
	})
	switch {
	case err != nil:
		failWalk(c, err)
		return
	case c.OutOfTries(begin):
		return
	}
	// The walk visits lock slots without keys, too.
	if !c.Steps(int64(walked) / command.StepKeys) {
		return
	}
	if !more {
		next = command.Place{}
	}
	c.Out.Array(2)
	c.Out.BulkString(next.Cursor())
	writeKeys(c, keys)
}

// runRandomKey gives each key the same chance: it draws a number below the number of keys and goes
// to that key. If that key has expired the next one takes its place.
func runRandomKey(c *command.Ctx, _ [][]byte) {
	skip := 0
	if n := c.KS.Keys(c.DB); n > 0 {
		skip = int(c.Seed % uint64(n))
	}
	// Keys may be deleted during the walk, which then may have to start over.
	for _, skip := range []int{skip, 0} {
		key, found, err := keyBehind(c, skip)
		switch {
		case errors.Is(err, errOutOfSteps):
			c.Out.Error(command.ErrWork)
			return
		case err != nil:
			failWalk(c, err)
			return
		}
		if found {
			c.Out.BulkString(key)
			return
		}
	}
	c.Out.Null()
}

// errOutOfSteps ends a walk.
var errOutOfSteps = errors.New(command.ErrWork)

// keyBehind returns the first key that has not expired behind skip others.
func keyBehind(c *command.Ctx, skip int) (key string, found bool, err error) {
	visited := 0
	for slot := range int32(c.KS.LockSlots()) {
		if err := c.Walk.Enter(slot); err != nil {
			return "", false, err
		}
		if n := c.KS.Slot(slot).Keys(c.DB); n <= skip {
			skip -= n
		} else {
			c.KS.Slot(slot).WalkRank(c.DB, skip, func(e *engine.Entry) bool {
				found = !e.ExpiredAt(c.NowMs)
				key = e.Key()
				if visited++; visited%command.StepKeys == 0 && !c.TakeSteps(1) {
					err = errOutOfSteps
				}
				return !found && err == nil
			})
			skip = 0
		}
		c.Walk.Leave(slot)
		if found || err != nil {
			return key, found, err
		}
	}
	return "", false, nil
}

// runDBSize counts the keys at one instant, with those that are due but not deleted yet. The
// keyspace's counter would not do: it moves during a RENAME, and may lack commands that are queued
// before this one.
func runDBSize(c *command.Ctx, _ [][]byte) {
	if !slotSteps(c) {
		return
	}
	ks, db := c.KS, c.DB
	n, err := c.Walk.Sum(int32(ks.LockSlots()), func(slot int32) int { return ks.Slot(slot).Keys(db) })
	if err != nil {
		failWalk(c, err)
		return
	}
	c.Out.Int(int64(n))
}
