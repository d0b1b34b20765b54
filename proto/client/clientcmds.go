package client

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/acl"
)

// clientHandlers are the subcommands of CLIENT.
var clientHandlers = group{
	"client|id": clientID, "client|info": clientInfo, "client|list": clientList,
	"client|getname": clientGetName, "client|setname": clientSetName, "client|setinfo": clientSetInfo,
	"client|unblock": clientUnblock, "client|kill": clientKill, "client|no-evict": clientNoEvict, "client|no-touch": clientNoTouch,
	"client|reply": clientReply, "client|help": clientHelp,
}

func isLoopback(a net.Addr) bool {
	if _, unix := a.(*net.UnixAddr); unix {
		return true
	}
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func clientID(c *Client, _ [][]byte) { c.out.Int(int64(c.id)) }

func clientInfo(c *Client, _ [][]byte) {
	now := time.Now()
	c.note(now)
	c.out.Verbatim("txt", c.line(now)+"\n")
}

func clientList(c *Client, args [][]byte) {
	now := time.Now()
	c.note(now)
	ids, kind, text := listFilter(args[2:])
	if text != "" {
		c.out.Error(text)
		return
	}
	var b strings.Builder
	for _, other := range c.registry.sorted() {
		if (ids == nil || ids[other.id]) && (kind == "" || kind == other.kind()) {
			b.WriteString(other.line(now))
			b.WriteByte('\n')
		}
	}
	c.out.Verbatim("txt", b.String())
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

func clientGetName(c *Client, _ [][]byte) {
	c.shared.mu.Lock()
	name := c.shared.name
	c.shared.mu.Unlock()
	if name == "" {
		c.out.Null()
		return
	}
	c.out.BulkString(name)
}

// printableName tells whether a name can stand in CLIENT LIST.
func printableName(b []byte) bool {
	for _, ch := range b {
		if ch < '!' || ch > '~' {
			return false
		}
	}
	return true
}

// nameBytesMax bounds what a client says of itself. Each client's is kept, and
// CLIENT LIST shows those of all.
const nameBytesMax = 4096

const errLongName = "ERR what a client says of itself may have 4096 bytes"

func (c *Client) setName(name []byte) (refusal string) {
	switch {
	case !printableName(name):
		return "ERR Client names cannot contain spaces, newlines or special characters."
	case len(name) > nameBytesMax:
		return errLongName
	}
	c.shared.mu.Lock()
	c.shared.name = string(name)
	c.shared.mu.Unlock()
	return ""
}

func clientSetName(c *Client, args [][]byte) {
	if text := c.setName(args[2]); text != "" {
		c.out.Error(text)
		return
	}
	c.out.OK()
}

func clientSetInfo(c *Client, args [][]byte) {
	attr := fold(args[2])
	if attr != "lib-name" && attr != "lib-ver" {
		c.out.Error(fmt.Sprintf("ERR Unrecognized option '%s'", args[2]))
		return
	}
	if !printableName(args[3]) {
		c.out.Error(fmt.Sprintf("ERR %s cannot contain spaces, newlines or special characters.", attr))
		return
	}
	if len(args[3]) > nameBytesMax {
		c.out.Error(errLongName)
		return
	}
	c.shared.mu.Lock()
	if attr == "lib-name" {
		c.shared.libName = string(args[3])
	} else {
		c.shared.libVer = string(args[3])
	}
	c.shared.mu.Unlock()
	c.out.OK()
}

func (c *Client) onOff(arg []byte, set *bool) {
	switch fold(arg) {
	case "on":
		*set = true
	case "off":
		*set = false
	default:
		c.out.Error(command.ErrSyntax)
		return
	}
	c.out.OK()
}

func clientNoEvict(c *Client, args [][]byte) { c.onOff(args[2], &c.noEvict) }

func clientNoTouch(c *Client, args [][]byte) { c.onOff(args[2], &c.noTouch) }

func clientReply(c *Client, args [][]byte) {
	switch fold(args[2]) {
	case "on":
		c.reply = replyOn
		c.out.OK()
	case "off":
		c.reply = replyOff
	case "skip":
		if c.reply != replyOff {
			c.reply = replySkipNext
		}
	default:
		c.out.Error(command.ErrSyntax)
	}
}

// killFilter is what CLIENT KILL was asked for.
type killFilter struct {
	id          uint64
	addr, laddr string
	kind        string
	user        *acl.Account
	maxAgeSec   int64
	skipMe      bool
}

func (f *killFilter) matches(c, self *Client, now time.Time) bool {
	if (f.skipMe && c == self) || (f.id != 0 && c.id != f.id) || (f.kind != "" && f.kind != c.kind()) {
		return false
	}
	if (f.addr != "" && c.conn.RemoteAddr().String() != f.addr) || (f.laddr != "" && c.conn.LocalAddr().String() != f.laddr) {
		return false
	}
	c.shared.mu.Lock()
	age := int64(now.Sub(c.shared.created).Seconds())
	user := c.shared.user
	c.shared.mu.Unlock()
	if f.user != nil && user.Name != f.user.Name {
		return false
	}
	return f.maxAgeSec == 0 || age >= f.maxAgeSec
}

func (f *killFilter) parse(c *Client, args [][]byte) (refusal string) {
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
			if f.user = c.users.Get(value); f.user == nil {
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

func clientKill(c *Client, args [][]byte) {
	if len(args) == 3 {
		f := killFilter{addr: string(args[2])}
		if c.killMatching(&f) == 0 {
			c.out.Error("ERR No such client")
			return
		}
		c.out.OK()
		return
	}
	f := killFilter{skipMe: true}
	if text := f.parse(c, args[2:]); text != "" {
		c.out.Error(text)
		return
	}
	c.out.Int(int64(c.killMatching(&f)))
}

// killMatching ends connections, and tells how many. No later write serves a blocking command of
// theirs.
func (c *Client) killMatching(f *killFilter) int {
	n := 0
	var waits []*waitEnd
	now := time.Now()
	for _, other := range c.registry.sorted() {
		if !f.matches(other, c, now) {
			continue
		}
		n++
		if other == c {
			c.closing = true
			continue
		}
		other.kill()
		if ended := other.letGo(errConnectionEnd); ended != nil {
			waits = append(waits, ended)
		}
	}
	for _, w := range waits {
		select {
		case <-w.over:
		case <-c.ctx.Done():
			return n
		}
	}
	return n
}

func clientHelp(c *Client, _ [][]byte) {
	c.help("CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
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
