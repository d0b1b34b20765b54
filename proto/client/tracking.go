package client

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/engine/command"
	"lockstep/proto/tracking"
)

var trackingHandlers = group{
	"client|tracking": clientTracking, "client|caching": clientCaching,
	"client|getredir": clientGetRedir, "client|trackinginfo": clientTrackingInfo,
}

// caching is the client's choice by CLIENT TRACKING and CLIENT CACHING.
type caching struct {
	on       bool
	redirect uint64
	opt      tracking.Options
	// given is CLIENT CACHING's YES in OPTIN mode, or its NO in OPTOUT mode, for
	// the next command or transaction.
	given bool
}

// Bounds of the prefixes of one client.
const (
	trackedPrefixesMax    = 1 << 12
	trackedPrefixBytesMax = 1 << 20
)

// redir is the client that gets the invalidations, 0 if it is this one, or -1 if there are none.
func (k *caching) redir() int64 {
	if !k.on {
		return -1
	}
	return int64(k.redirect)
}

// wants reports whether the keys of a command are to be registered: the command reads, and the mode
// asks for it. A script counts as reading all keys that it names.
func (k *caching) wants(spec *command.Spec) bool {
	return k.on && !k.opt.BCast && (!k.opt.OptIn || k.given) && (!k.opt.OptOut || !k.given) && reads(spec)
}

// reads reports whether a client may cache the reply of a command.
func reads(spec *command.Spec) bool {
	return (spec.Is(command.ReadOnly) || spec.Cats&command.CatScripting != 0) && !spec.Is(command.PubSub)
}

// hears reports whether the client is told about changes of a key that it has read.
func (k *caching) hears(key []byte) bool {
	return !k.opt.BCast || slices.ContainsFunc(k.opt.Prefixes, func(prefix string) bool { return strings.HasPrefix(string(key), prefix) })
}

func keysOf(spec *command.Spec, args [][]byte) [][]byte {
	var buf [8]command.KeyRef
	refs := spec.AppendKeys(buf[:0], args)
	keys := make([][]byte, len(refs))
	for i, ref := range refs {
		keys[i] = args[ref.Pos]
	}
	return keys
}

// forgetCaching ends the effect of CLIENT CACHING, after a command that is not one
// of CLIENT's or after a whole transaction.
func (c *Client) forgetCaching(spec *command.Spec) {
	if c.caching.given && !c.tx.open && (spec == nil || !keepsCaching(spec)) {
		c.caching.given = false
	}
}

// keepsCaching reports whether a command is one of CLIENT's.
func keepsCaching(spec *command.Spec) bool {
	return spec.Parent() != nil && spec.Parent().Has(command.KeepsCaching)
}

func clientTracking(c *Client, args [][]byte) {
	next, refusal := c.parseTracking(args[3:])
	mode := fold(args[2])
	if refusal == "" && mode == "on" {
		refusal = c.caching.refuses(&next)
	}
	switch {
	case refusal != "":
		c.out.Error(refusal)
		return
	case mode == "on":
		c.track(next)
	case mode == "off":
		c.untrack()
	default:
		c.out.Error(command.ErrSyntax)
		return
	}
	c.out.OK()
}

// refuses says why the choice cannot follow the current one, or "" if it can.
func (k *caching) refuses(next *caching) string {
	const reenable = " before disabling tracking for this client, and then re-enabling it with a different mode."
	was, opt := k.opt, next.opt
	switch {
	case !opt.BCast && len(opt.Prefixes) > 0:
		return "ERR PREFIX option requires BCAST mode to be enabled"
	case k.on && was.BCast != opt.BCast:
		return "ERR You can't switch BCAST mode on/off" + reenable
	case opt.BCast && (opt.OptIn || opt.OptOut):
		return "ERR OPTIN and OPTOUT are not compatible with BCAST"
	case opt.OptIn && opt.OptOut:
		return "ERR You can't specify both OPTIN mode and OPTOUT mode"
	case opt.OptIn && was.OptOut, opt.OptOut && was.OptIn:
		return "ERR You can't switch OPTIN/OPTOUT mode" + reenable
	case len(was.Prefixes)+len(opt.Prefixes) > trackedPrefixesMax, textBytes(was.Prefixes)+textBytes(opt.Prefixes) > trackedPrefixBytesMax:
		return "ERR too many prefixes"
	}
	return overlaps(was.Prefixes, opt.Prefixes)
}

func textBytes(texts []string) int {
	sum := 0
	for _, t := range texts {
		sum += len(t)
	}
	return sum
}

// overlaps says which of a client's prefixes overlap, among the new ones or between
// these and the ones it has. It is "" if none do. It compares all pairs only if
// there is an overlap: in sorted order, a prefix is directly followed by a text
// that starts with it.
func overlaps(was, next []string) string {
	sorted := slices.Concat(was, next)
	slices.Sort(sorted)
	i := 1
	for i < len(sorted) && !strings.HasPrefix(sorted[i], sorted[i-1]) {
		i++
	}
	if i >= len(sorted) {
		return ""
	}
	for i, p := range next {
		for _, other := range was {
			if overlap(p, other) {
				return fmt.Sprintf("ERR Prefix '%s' overlaps with an existing prefix '%s'. Prefixes for a single client must not overlap.", p, other)
			}
		}
		for _, other := range next[i+1:] {
			if overlap(p, other) {
				return fmt.Sprintf("ERR Prefix '%s' overlaps with another provided prefix '%s'. Prefixes for a single client must not overlap.", p, other)
			}
		}
	}
	return ""
}

func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// cache is CLIENT CACHING. It returns why the command is refused, or "".
func (k *caching) cache(arg []byte) (refusal string) {
	switch word := fold(arg); {
	case !k.on:
		return "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
	case word == "yes" && !k.opt.OptIn:
		return "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
	case word == "no" && !k.opt.OptOut:
		return "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
	case word != "yes" && word != "no":
		return command.ErrSyntax
	}
	k.given = true
	return ""
}

func clientCaching(c *Client, args [][]byte) {
	if refusal := c.caching.cache(args[2]); refusal != "" {
		c.out.Error(refusal)
		return
	}
	c.out.OK()
}

func clientGetRedir(c *Client, _ [][]byte) { c.out.Int(c.caching.redir()) }

func clientTrackingInfo(c *Client, _ [][]byte) {
	k := &c.caching
	flags := []string{"off"}
	if k.on {
		flags[0] = "on"
	}
	for _, f := range []struct {
		on   bool
		name string
	}{
		{k.opt.BCast, "bcast"}, {k.opt.OptIn, "optin"}, {k.opt.OptIn && k.given, "caching-yes"},
		{k.opt.OptOut, "optout"}, {k.opt.OptOut && k.given, "caching-no"}, {k.opt.NoLoop, "noloop"},
		{k.on && c.listener.pushes.isBroken(), "broken_redirect"},
	} {
		if f.on {
			flags = append(flags, f.name)
		}
	}
	c.out.Map(3)
	c.out.BulkString("flags")
	c.out.Set(len(flags))
	for _, f := range flags {
		c.out.BulkString(f)
	}
	c.out.BulkString("redirect")
	c.out.Int(k.redir())
	c.out.BulkString("prefixes")
	c.out.Array(len(k.opt.Prefixes))
	for _, p := range k.opt.Prefixes {
		c.out.BulkString(p)
	}
}
