package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/acl"
	"lockstep/proto/client"
)

// clients are the subcommands of CLIENT that inspect a node's connections. The others, which change how the client's
// own commands run, are in package client.
type clients struct{ registry *client.Registry }

func (h *clients) handlers() client.Handlers {
	return client.Handlers{
		"client|id": clientID, "client|info": clientInfo, "client|list": h.list,
		"client|getname": clientGetName, "client|setname": clientSetName, "client|setinfo": clientSetInfo,
		"client|unblock": h.unblock, "client|kill": h.kill, "client|help": clientHelp,
	}
}

func clientID(r *client.Request, _ [][]byte) { r.Out.Int(int64(r.Connection().ID())) }

func clientInfo(r *client.Request, _ [][]byte) {
	now := time.Now()
	r.Out.Verbatim("txt", r.ConnectionAt(now).Line(now)+"\n")
}

func (h *clients) list(r *client.Request, args [][]byte) {
	now := time.Now()
	r.ConnectionAt(now)
	ids, kind, text := listFilter(args[2:])
	if text != "" {
		r.Out.Error(text)
		return
	}
	var b strings.Builder
	for _, other := range h.registry.Connections() {
		if (ids == nil || ids[other.ID()]) && (kind == "" || kind == other.Kind()) {
			b.WriteString(other.Line(now))
			b.WriteByte('\n')
		}
	}
	r.Out.Verbatim("txt", b.String())
}

// clientTypes are the types that CLIENT LIST and KILL know; clients here are
// normal or pubsub.
var clientTypes = []string{"normal", "master", "replica", "slave", "pubsub"}

func errClientType(name string) string { return fmt.Sprintf("ERR Unknown client type '%s'", name) }

func listFilter(args [][]byte) (ids map[uint64]bool, kind, refusal string) {
	switch {
	case len(args) == 0:
		return nil, "", ""
	case fold(args[0]) == "type" && len(args) == 2:
		if kind = fold(args[1]); slices.Contains(clientTypes, kind) {
			return nil, kind, ""
		}
		return nil, "", errClientType(string(args[1]))
	case fold(args[0]) == "id" && len(args) > 1:
		ids = map[uint64]bool{}
		for _, a := range args[1:] {
			id, ok := parseInt(a)
			if !ok {
				return nil, "", "ERR Invalid client ID"
			}
			ids[uint64(id)] = true
		}
		return ids, "", ""
	}
	return nil, "", command.ErrSyntax
}

func clientGetName(r *client.Request, _ [][]byte) {
	name := r.Connection().Name()
	if name == "" {
		r.Out.Null()
		return
	}
	r.Out.BulkString(name)
}

func clientSetName(r *client.Request, args [][]byte) {
	if text := r.Connection().SetName(args[2]); text != "" {
		r.Out.Error(text)
		return
	}
	r.Out.OK()
}

func clientSetInfo(r *client.Request, args [][]byte) {
	attr := fold(args[2])
	if attr != "lib-name" && attr != "lib-ver" {
		r.Out.Error(fmt.Sprintf("ERR Unrecognized option '%s'", args[2]))
		return
	}
	if text := r.Connection().SetLibrary(attr, args[3]); text != "" {
		r.Out.Error(text)
		return
	}
	r.Out.OK()
}

// killFilter holds the filters of a CLIENT KILL.
type killFilter struct {
	id          uint64
	addr, laddr string
	kind        string
	user        *acl.Account
	maxAgeSec   int64
	skipMe      bool
}

func (f *killFilter) matches(c, self *client.Connection, now time.Time) bool {
	switch {
	case f.skipMe && c == self,
		f.id != 0 && c.ID() != f.id,
		f.kind != "" && f.kind != c.Kind(),
		f.addr != "" && c.RemoteAddr().String() != f.addr,
		f.laddr != "" && c.LocalAddr().String() != f.laddr,
		f.user != nil && c.UserName() != f.user.Name:
		return false
	}
	return f.maxAgeSec == 0 || int64(c.Age(now).Seconds()) >= f.maxAgeSec
}

func (f *killFilter) parse(r *client.Request, args [][]byte) (refusal string) {
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return command.ErrSyntax
		}
		value := string(args[i+1])
		switch fold(args[i]) {
		case "id":
			id, ok := parseInt(args[i+1])
			if !ok || id < 1 {
				return "ERR client-id should be greater than 0"
			}
			f.id = uint64(id)
		case "type":
			if f.kind = strings.ToLower(value); !slices.Contains(clientTypes, f.kind) {
				return errClientType(value)
			}
		case "addr":
			f.addr = value
		case "laddr":
			f.laddr = value
		case "user":
			if f.user = r.Users().Get(value); f.user == nil {
				return fmt.Sprintf("ERR No such user '%s'", value)
			}
		case "skipme":
			switch strings.ToLower(value) {
			case "yes":
				f.skipMe = true
			case "no":
				f.skipMe = false
			default:
				return command.ErrSyntax
			}
		case "maxage":
			n, ok := parseInt(args[i+1])
			if !ok || n <= 0 {
				return "ERR maxage is not an integer or out of range"
			}
			f.maxAgeSec = n
		default:
			return command.ErrSyntax
		}
	}
	return ""
}

func (h *clients) kill(r *client.Request, args [][]byte) {
	r.ConnectionAt(time.Now()) // the commands before this one in the batch count, too
	if len(args) == 3 {
		f := killFilter{addr: string(args[2])}
		if h.killMatching(r, &f) == 0 {
			r.Out.Error("ERR No such client")
			return
		}
		r.Out.OK()
		return
	}
	f := killFilter{skipMe: true}
	if text := f.parse(r, args[2:]); text != "" {
		r.Out.Error(text)
		return
	}
	r.Out.Int(int64(h.killMatching(r, &f)))
}

// killMatching ends connections, and returns how many. No later write serves a blocking command of theirs.
func (h *clients) killMatching(r *client.Request, f *killFilter) int {
	n := 0
	var waits []<-chan struct{}
	now := time.Now()
	for _, other := range h.registry.Connections() {
		if !f.matches(other, r.Connection(), now) {
			continue
		}
		n++
		if other == r.Connection() {
			r.EndConnection()
			continue
		}
		if over := other.End(); over != nil {
			waits = append(waits, over)
		}
	}
	for _, over := range waits {
		select {
		case <-over:
		case <-r.Context().Done():
			return n
		}
	}
	return n
}

func (h *clients) unblock(r *client.Request, args [][]byte) {
	if len(args) > 4 {
		r.Out.Error("ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.")
		return
	}
	withError := false
	if len(args) == 4 {
		switch fold(args[3]) {
		case "timeout":
		case "error":
			withError = true
		default:
			r.Out.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
			return
		}
	}
	id, ok := parseInt(args[2])
	if !ok {
		r.Out.Error(command.ErrNotInteger)
		return
	}
	if other := h.registry.Find(uint64(id)); other == nil || !other.Unblock(r.Context(), withError) {
		r.Out.Int(0)
		return
	}
	r.Out.Int(1)
}

func clientHelp(r *client.Request, _ [][]byte) {
	help(r, "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CACHING (YES|NO)", "    Let the keys of the next command be cached, or not, in OPTIN and OPTOUT modes.",
		"GETREDIR", "    Return the ID of the client that gets this one's invalidations.",
		"GETNAME", "    Return the name of the current connection.",
		"ID", "    Return the ID of the current connection.",
		"INFO", "    Return information about the current client connection.",
		"KILL <ip:port>", "    Kill connection made from <ip:port>.",
		"KILL <option> <value> [<option> <value> [...]]", "    Kill connections by ADDR, LADDR, TYPE, USER, ID, MAXAGE, SKIPME.",
		"LIST [TYPE <type>|ID <id> [<id> ...]]", "    Return information about client connections.",
		"NO-EVICT (ON|OFF)", "    Protect the current client connection from eviction.",
		"NO-TOUCH (ON|OFF)", "    Will not touch access times when this mode is on.",
		"PAUSE <timeout> [WRITE|ALL]", "    Hold back all, or just write, commands of this node's clients for <timeout>", "    milliseconds.",
		"REPLY (ON|OFF|SKIP)", "    Control the replies sent to the current connection.",
		"SETINFO <option> <value>", "    Set LIB-NAME or LIB-VER of the current connection.",
		"SETNAME <name>", "    Assign the name <name> to the current connection.",
		"TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]", "         [OPTIN] [OPTOUT] [NOLOOP]",
		"    Control the invalidation messages for client-side caching.",
		"TRACKINGINFO", "    Report how the current connection tracks.",
		"UNBLOCK <clientid> [TIMEOUT|ERROR]", "    Let a client go on that waits in a blocking command.",
		"UNPAUSE", "    End CLIENT PAUSE.")
}
