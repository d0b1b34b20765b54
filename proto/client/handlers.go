package client

import (
	"bytes"
	"fmt"
	"math"
	"net"

	"lockstep/engine/command"
	"lockstep/engine/reply"
)

// connectionHandlers are those of commands on the connection.
var connectionHandlers = group{
	"ping": ping, "echo": echo, "quit": quit, "reset": reset, "hello": hello, "auth": auth, "select": selectDB,
	"readonly": readOnly, "readwrite": readWrite, "asking": asking, "monitor": monitor, "migrate": migrate,
	"client|no-evict": clientNoEvict, "client|no-touch": clientNoTouch, "client|reply": clientReply,
}

func ping(c *Client, args [][]byte) {
	switch {
	case len(args) > 2:
		c.out.Error("ERR wrong number of arguments for 'ping' command")
	case c.listener.listeningOnly():
		c.out.Array(2)
		c.out.BulkString("pong")
		if len(args) == 2 {
			c.out.Bulk(args[1])
		} else {
			c.out.BulkString("")
		}
	case len(args) == 2:
		c.out.Bulk(args[1])
	default:
		c.out.Status("PONG")
	}
}

func echo(c *Client, args [][]byte) { c.out.Bulk(args[1]) }

func quit(c *Client, _ [][]byte) {
	c.out.OK()
	c.out.closing = true
}

func reset(c *Client, _ [][]byte) {
	c.tx = transaction{}
	c.listener.unsubscribeAll()
	c.untrack()
	c.listener.unmonitor()
	c.db, c.readonly, c.noEvict, c.noTouch = 0, false, false, false
	c.fresh = nil
	if c.out.mode != replySkip {
		c.out.mode = replyOn
	}
	c.out.Proto = reply.RESP2
	c.listener.pushes.forget()
	c.listener.pushes.speak(c.out.Proto)
	c.becomeDefault()
	c.shared.mu.Lock()
	c.shared.name = ""
	c.shared.mu.Unlock()
	c.out.Status("RESET")
}

func selectDB(c *Client, args [][]byte) {
	n, ok := parseInt(args[1])
	switch {
	case !ok:
		c.out.Error(command.ErrNotInteger)
	case n < math.MinInt32 || n > math.MaxInt32:
		c.out.Error(command.ErrNotInt32)
	case n < 0 || n >= databases:
		c.out.Error(command.ErrDBIndex)
	default:
		c.db = int(n)
		c.out.OK()
	}
}

const (
	errWrongPass = "WRONGPASS invalid username-password pair or user is disabled."
)

func auth(c *Client, args [][]byte) {
	user, pass, refusal := c.credentials(args)
	if refusal == "" && !c.logIn(args[0], user, pass) {
		refusal = errWrongPass
	}
	if refusal != "" {
		c.out.Error(refusal)
		return
	}
	c.out.OK()
}

func hello(c *Client, args [][]byte) {
	h := helloArgs{proto: c.out.Proto}
	if text := h.parse(args); text != "" {
		c.out.Error(text)
		return
	}
	if h.auth && !c.logIn(args[0], h.user, h.pass) {
		c.out.Error(errWrongPass)
		return
	}
	if c.mustLogIn() {
		c.out.Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if h.named {
		if text := c.shared.SetName(h.name); text != "" {
			c.out.Error(text)
			return
		}
	}
	c.out.Proto = h.proto
	c.listener.pushes.speak(c.out.Proto)
	s := c.settings
	c.out.Map(7)
	c.out.BulkString("server")
	c.out.BulkString("redis")
	c.out.BulkString("version")
	c.out.BulkString(s.RedisVersion)
	c.out.BulkString("proto")
	c.out.Int(int64(c.out.Proto))
	c.out.BulkString("id")
	c.out.Int(int64(c.shared.id))
	c.out.BulkString("mode")
	c.out.BulkString(c.backend.Greeter.Mode())
	c.out.BulkString("role")
	c.out.BulkString(c.backend.Greeter.Role())
	c.out.BulkString("modules")
	c.out.Array(0)
}

type helloArgs struct {
	proto       int
	auth, named bool
	user, pass  string
	name        []byte
}

func (h *helloArgs) parse(args [][]byte) (refusal string) {
	if len(args) < 2 {
		return ""
	}
	n, ok := parseInt(args[1])
	if !ok {
		return "ERR Protocol version is not an integer or out of range"
	}
	if n != 2 && n != 3 {
		return "NOPROTO unsupported protocol version"
	}
	h.proto = int(n)
	for i := 2; i < len(args); i++ {
		switch left := len(args) - 1 - i; {
		case fold(args[i]) == "auth" && left >= 2:
			h.auth, h.user, h.pass = true, string(args[i+1]), string(args[i+2])
			i += 2
		case fold(args[i]) == "setname" && left >= 1:
			h.named, h.name = true, bytes.Clone(args[i+1])
			i++
		default:
			return fmt.Sprintf("ERR Syntax error in HELLO option '%s'", args[i])
		}
	}
	return ""
}

func readOnly(c *Client, _ [][]byte) {
	c.readonly = true
	c.out.OK()
}

func readWrite(c *Client, _ [][]byte) {
	c.readonly = false
	c.out.OK()
}

func asking(c *Client, _ [][]byte) { c.out.OK() }

const errDebug = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."

func isLoopback(a net.Addr) bool {
	if _, unix := a.(*net.UnixAddr); unix {
		return true
	}
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
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
		c.out.mode = replyOn
		c.out.OK()
	case "off":
		c.out.mode = replyOff
	case "skip":
		if c.out.mode != replyOff {
			c.out.mode = replySkipNext
		}
	default:
		c.out.Error(command.ErrSyntax)
	}
}
