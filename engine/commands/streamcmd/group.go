package streamcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/stream"
)

// groupOptions are the options of XGROUP CREATE and SETID.
type groupOptions struct {
	makes       bool
	entriesRead int64
}

// parse reads the options. It answers the error itself.
func (o *groupOptions) parse(c *command.Ctx, args [][]byte, create bool) (ok bool) {
	o.entriesRead = stream.EntriesReadUnknown
	for i := 5; i < len(args); i++ {
		switch {
		case create && command.EqualFold(args[i], "mkstream"):
			o.makes = true
		case i+1 < len(args) && command.EqualFold(args[i], "entriesread"):
			i++
			if o.entriesRead, ok = c.IntArg(args[i]); !ok {
				return false
			}
			if o.entriesRead < 0 && o.entriesRead != stream.EntriesReadUnknown {
				c.Out.Error(ErrGroupEntriesRead)
				return false
			}
		default:
			c.Out.Error(errSubcommandSyntax(args, "XGROUP"))
			return false
		}
	}
	return true
}

// xgroupStream returns the stream of an XGROUP command. The stream must exist unless makes is set.
// It answers the error itself.
func xgroupStream(c *command.Ctx, key []byte, makes bool) (*stream.Stream, *engine.Entry, bool) {
	s, e, ok := writeStream(c, key)
	if ok && e == nil && !makes {
		c.Out.Error(ErrGroupNoKey)
		return nil, nil, false
	}
	return s, e, ok
}

// xgroupGroup is xgroupStream for a command whose group must exist too.
func xgroupGroup(c *command.Ctx, key, group []byte) (*stream.Stream, *stream.Group, *engine.Entry, bool) {
	s, e, ok := xgroupStream(c, key, false)
	if !ok {
		return nil, nil, nil, false
	}
	g := s.Groups.Find(group)
	if g == nil {
		c.Out.Error(errNoGroupOf(key, group))
		return nil, nil, nil, false
	}
	return s, g, e, true
}

func runXGroupCreate(c *command.Ctx, args [][]byte) {
	key, name := args[2], args[3]
	var o groupOptions
	if !o.parse(c, args, true) {
		return
	}
	s, e, ok := xgroupStream(c, key, o.makes)
	if !ok {
		return
	}
	// At most MKSTREAM and ENTRIESREAD, once each.
	const argsMax = 8
	if len(args) > argsMax {
		c.Out.Error(errSubcommandSyntax(args, "XGROUP"))
		return
	}
	var last stream.ID
	if string(clipC(args[4])) != "$" {
		if last, ok = streamID(c, args[4]); !ok {
			return
		}
	} else if s != nil {
		last = s.State.Last
	}
	if s != nil && s.Groups.Find(name) != nil {
		c.Out.Error(ErrGroupBusy)
		return
	}
	add := func(s *stream.Stream) bool { return s.Groups.Add(name, last, o.entriesRead) }
	if e == nil {
		fillStream(c, key, nil, func(s *stream.Stream) { add(s) })
	} else {
		changeStream(c, key, e, add)
	}
	c.Notify(command.EventStream, "xgroup-create", key)
	c.Out.OK()
}

func runXGroupSetID(c *command.Ctx, args [][]byte) {
	key, name := args[2], args[3]
	var o groupOptions
	if !o.parse(c, args, false) {
		return
	}
	s, _, e, ok := xgroupGroup(c, key, name)
	if !ok {
		return
	}
	if len(args) != 5 && len(args) != 7 {
		c.Out.Error(errSubcommandSyntax(args, "XGROUP"))
		return
	}
	last := s.State.Last
	if string(clipC(args[4])) != "$" {
		if last, ok = streamEdgeID(args[4], 0); !ok {
			c.Out.Error(ErrStreamID)
			return
		}
	}
	changeStream(c, key, e, func(s *stream.Stream) bool {
		s.Groups.SetRead(s.Groups.Change(name), last, o.entriesRead)
		return true
	})
	c.Notify(command.EventStream, "xgroup-setid", key)
	c.Out.OK()
}

// runXGroupDestroy also notifies clients that wait for entries of the group: they get an error.
func runXGroupDestroy(c *command.Ctx, args [][]byte) {
	key, name := args[2], args[3]
	s, e, ok := xgroupStream(c, key, false)
	if !ok {
		return
	}
	if s.Groups.Find(name) == nil {
		c.Out.Int(0)
		return
	}
	changeStream(c, key, e, func(s *stream.Stream) bool {
		s.Groups.Remove(name)
		return true
	})
	if c.Observer != nil {
		c.Observer.Gone(c.DB, key)
	}
	c.Notify(command.EventStream, "xgroup-destroy", key)
	c.Out.Int(1)
}

func runXGroupCreateConsumer(c *command.Ctx, args [][]byte) {
	key, name := args[2], args[3]
	_, g, e, ok := xgroupGroup(c, key, name)
	if !ok {
		return
	}
	if _, exists := g.FindConsumer(args[4]); exists {
		c.Out.Int(0)
		return
	}
	changeStream(c, key, e, func(s *stream.Stream) bool {
		s.Groups.AddConsumer(s.Groups.Change(name), args[4], c.NowMs)
		return true
	})
	c.Notify(command.EventStream, "xgroup-createconsumer", key)
	c.Out.Int(1)
}

func runXGroupDelConsumer(c *command.Ctx, args [][]byte) {
	key, name := args[2], args[3]
	_, g, e, ok := xgroupGroup(c, key, name)
	if !ok {
		return
	}
	no, exists := g.FindConsumer(args[4])
	if !exists {
		c.Out.Int(0)
		return
	}
	n := 0
	changeStream(c, key, e, func(s *stream.Stream) bool {
		n = s.Groups.RemoveConsumer(s.Groups.Change(name), no, c.Member)
		return true
	})
	c.Notify(command.EventStream, "xgroup-delconsumer", key)
	c.Out.Int(int64(n))
}

func runXGroupHelp(c *command.Ctx, _ [][]byte) {
	help(c,
		"XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CREATE <key> <groupname> <id|$> [option]",
		"    Creates a group that gets what comes behind the ID. Options are:",
		"    * MKSTREAM",
		"      Creates the stream, empty, if it does not exist.",
		"    * ENTRIESREAD entries_read",
		"      Sets how many entries there were up to the ID.",
		"CREATECONSUMER <key> <groupname> <consumer>",
		"    Creates a consumer.",
		"DELCONSUMER <key> <groupname> <consumer>",
		"    Deletes a consumer and its pending entries.",
		"DESTROY <key> <groupname>",
		"    Deletes a group.",
		"SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
		"    Sets the last ID that the group got, and how many entries there were up to it.",
		"HELP",
		"    Prints this help.",
	)
}

// help answers lines of help.
func help(c *command.Ctx, lines ...string) {
	c.Out.Array(len(lines))
	for _, line := range lines {
		c.Out.Status(line)
	}
}
