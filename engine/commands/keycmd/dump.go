package keycmd

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
)

func runDump(c *command.Ctx, args [][]byte) {
	e := c.Read(args[1])
	if e == nil {
		c.Out.Null()
		return
	}
	c.Out.Bulk(values.Dump(c, e))
}

// restoreOptions are the options of RESTORE.
type restoreOptions struct {
	replace, absolute bool
	// idleSec and freq are -1 if they are not given. Each counts only under its own kind of
	// eviction policy.
	idleSec, freq int64
}

// parse reads the options. It answers the error itself.
func (o *restoreOptions) parse(c *command.Ctx, args [][]byte) bool {
	o.idleSec, o.freq = -1, -1
	for i := 0; i < len(args); i++ {
		more := i+1 < len(args)
		var ok bool
		switch {
		case command.EqualFold(args[i], "replace"):
			o.replace = true
		case command.EqualFold(args[i], "absttl"):
			o.absolute = true
		case command.EqualFold(args[i], "idletime") && more && o.freq < 0:
			i++
			if o.idleSec, ok = c.IntArg(args[i]); !ok {
				return false
			}
			if o.idleSec < 0 {
				c.Out.Error(ErrIdleTime)
				return false
			}
		case command.EqualFold(args[i], "freq") && more && o.idleSec < 0:
			i++
			if o.freq, ok = c.IntArg(args[i]); !ok {
				return false
			}
			if o.freq < 0 || o.freq > 255 {
				c.Out.Error(ErrFreq)
				return false
			}
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	return true
}

func runRestore(c *command.Ctx, args [][]byte) {
	key, payload := args[1], args[3]
	var o restoreOptions
	if !o.parse(c, args[4:]) {
		return
	}
	if !o.replace && c.Write(key) != nil {
		c.Out.Error(command.ErrBusyKey)
		return
	}
	atMs, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if atMs < 0 {
		c.Out.Error(ErrRestoreTTL)
		return
	}
	rdbType, body, ok := rdb.OpenPayload(payload)
	if !ok {
		c.Out.Error(command.ErrBadDump)
		return
	}
	e, err := values.Restore(c, rdbType, body, key)
	if err != nil {
		c.Out.Error(command.ErrBadDumpBody)
		return
	}
	switch {
	case atMs != 0 && o.absolute:
		atMs = c.FromDay(atMs)
	case atMs != 0:
		// A sum out of range wraps around to a time long ago, as in Redis.
		atMs += c.NowMs
	}
	c.Out.OK()
	if atMs != 0 && atMs <= c.NowMs {
		if c.Delete(key) {
			c.Notify(command.EventGeneric, "del", key)
		}
		return
	}
	e.ExpireAtMs = atMs
	c.PutNew(c.DB, e)
	c.Notify(command.EventGeneric, "restore", key)
	switch lfu := c.Settings.Policy().LFU(); {
	case lfu && o.freq >= 0 && c.UseTick != 0:
		e.SetLFU(c.Minute(), uint8(o.freq))
	case !lfu && o.idleSec > 0 && c.UseTick != 0:
		// Tick 1 is the oldest use that can be recorded.
		e.Touch(uint32(max(1, int64(c.UseTick)-min(o.idleSec, math.MaxUint32)*engine.UseTicks)))
	}
}

// restoreGrowth bounds the bytes that a payload may unpack to.
func restoreGrowth(args [][]byte, _ *command.Sizes) int64 { return rdb.UnpackedBytes(args[3]) }
