package client

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/streamcmd"
	"lockstep/engine/reply"
	"lockstep/proto/acl"
)

// group is the handlers of some commands, by name.
type group map[string]func(*Client, [][]byte)

// handler is what a command that needs no data does. A light one neither looks
// at what commands before it do to data nor changes what others see: it need not
// wait for them. One that waits for others than the shards has what came before it
// answered first.
type handler struct {
	run   func(*Client, [][]byte)
	light bool
	waits bool
}

// handlers are those of the commands that need no data, EXEC aside. A test holds them
// and the rows of ScopeNode together, one to one.
var handlers = map[string]handler{}

// light names the light handlers.
var light = []string{
	"ping", "echo", "quit", "reset", "hello", "auth", "select", "multi", "discard", "unwatch", "time", "lolwut",
	"client|caching", "client|getredir", "client|trackinginfo",
	"readonly", "readwrite", "asking", "command", "command|count", "command|info", "command|docs", "command|list",
	"command|getkeys", "command|getkeysandflags", "client|id", "client|getname", "client|setname", "client|setinfo",
	"client|no-evict", "client|no-touch", "client|reply", "lockstep|staleness", "cluster|keyslot", "cluster|myid",
}

// waiting names the handlers that wait.
var waiting = []string{"migrate", "sync", "psync"}

func init() {
	own := group{
		"ping": ping, "echo": echo, "quit": quit, "reset": reset, "hello": hello, "auth": auth, "select": selectDB,
		"multi": multi, "discard": discard, "watch": watch, "unwatch": unwatch,
		"time": timeCommand, "lolwut": lolwut, "migrate": migrate, "role": role, "wait": wait, "waitaof": waitAOF, "info": info, "shutdown": shutdown,
		"save": save, "bgsave": bgsave, "lastsave": lastSave, "debug": debugCommand,
		"readonly": readOnly, "readwrite": readWrite, "asking": asking,
		"monitor": monitor, "sync": syncCommand, "psync": psync, "replconf": replconf,
	}
	for _, g := range []group{own, clientHandlers, commandHandlers, configHandlers, slowlogHandlers, trackingHandlers, clusterHandlers, lockstepHandlers, aclHandlers, pubSubHandlers, latencyHandlers, memoryHandlers, moduleHandlers, pauseHandlers, scriptHandlers, libraryHandlers, freshnessHandlers} {
		for name, run := range g {
			handlers[name] = handler{run, slices.Contains(light, name), slices.Contains(waiting, name)}
		}
	}
}

func ping(c *Client, args [][]byte) {
	switch {
	case len(args) > 2:
		c.out.Error("ERR wrong number of arguments for 'ping' command")
	case c.listeningOnly():
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
	c.closing = true
}

func reset(c *Client, _ [][]byte) {
	c.tx = transaction{}
	c.unsubscribeAll()
	c.untrack()
	c.unmonitor()
	c.db, c.readonly, c.noEvict, c.noTouch = 0, false, false, false
	c.fresh = nil
	if c.reply != replySkip {
		c.reply = replyOn
	}
	c.proto = reply.RESP2
	c.out.Proto = c.proto
	c.pushes.forget()
	c.pushes.speak(c.proto)
	c.begin()
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
	errNoPassword = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	errWrongPass  = "WRONGPASS invalid username-password pair or user is disabled."
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

// credentials are the arguments of AUTH.
func (c *Client) credentials(args [][]byte) (user, pass, refusal string) {
	switch len(args) {
	case 2:
		if c.users.Default().NoPass() {
			return "", "", errNoPassword
		}
		return acl.Default, string(args[1]), ""
	case 3:
		return string(args[1]), string(args[2]), ""
	}
	return "", "", command.ErrSyntax
}

func hello(c *Client, args [][]byte) {
	h := helloArgs{proto: c.proto}
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
		if text := c.setName(h.name); text != "" {
			c.out.Error(text)
			return
		}
	}
	c.proto = h.proto
	c.out.Proto = c.proto
	c.pushes.speak(c.proto)
	s := c.settings
	c.out.Map(7)
	c.out.BulkString("server")
	c.out.BulkString("redis")
	c.out.BulkString("version")
	c.out.BulkString(s.RedisVersion)
	c.out.BulkString("proto")
	c.out.Int(int64(c.proto))
	c.out.BulkString("id")
	c.out.Int(int64(c.id))
	c.out.BulkString("mode")
	c.out.BulkString(c.backend.Mode())
	c.out.BulkString("role")
	c.out.BulkString(c.backend.Role())
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

func timeCommand(c *Client, _ [][]byte) {
	now := time.Now()
	c.out.Array(2)
	c.out.BulkInt(now.Unix())
	c.out.BulkInt(int64(now.Nanosecond() / 1000))
}

func role(c *Client, _ [][]byte) {
	if c.backend.Role() == "slave" {
		leader := c.backend.Replicas()
		host, port := "", int64(0)
		if len(leader) > 0 {
			host = leader[0][0]
			port, _ = strconv.ParseInt(leader[0][1], 10, 64)
		}
		c.out.Array(5)
		c.out.BulkString("slave")
		c.out.BulkString(host)
		c.out.Int(port)
		c.out.BulkString("connected")
		c.out.Int(c.backend.Offset())
		return
	}
	replicas := c.backend.Replicas()
	c.out.Array(3)
	c.out.BulkString("master")
	c.out.Int(c.backend.Offset())
	c.out.Array(len(replicas))
	for _, r := range replicas {
		c.out.Array(3)
		c.out.BulkString(r[0])
		c.out.BulkString(r[1])
		c.out.BulkString(r[2])
	}
}

// wait answers how many replicas hold this client's writes. What was
// acknowledged is on a quorum already, so there is nothing to wait for.
func wait(c *Client, args [][]byte) {
	if _, ok := c.integer(args[1], command.ErrNotInteger); !ok {
		return
	}
	if _, ok := c.timeout(args[2]); !ok {
		return
	}
	c.out.Int(int64(c.backend.Synced()))
}

func waitAOF(c *Client, args [][]byte) {
	local, ok := c.integer(args[1], command.ErrNotPositive)
	if !ok {
		return
	}
	if local < 0 || local > 1 {
		c.out.Error("ERR value is out of range, must be between 0 and 1")
		return
	}
	if _, ok := c.integer(args[2], command.ErrNotInteger); !ok {
		return
	}
	if _, ok := c.timeout(args[3]); !ok {
		return
	}
	c.out.Array(2)
	c.out.Int(1)
	c.out.Int(int64(c.backend.Synced()))
}

func (c *Client) integer(arg []byte, text string) (int64, bool) {
	n, ok := parseInt(arg)
	if !ok {
		c.out.Error(text)
	}
	return n, ok
}

func (c *Client) timeout(arg []byte) (int64, bool) {
	n, ok := parseInt(arg)
	switch {
	case !ok:
		c.out.Error(streamcmd.ErrReadTimeout)
	case n < 0:
		c.out.Error(command.ErrTimeoutNegative)
	default:
		return n, true
	}
	return 0, false
}

func info(c *Client, args [][]byte) {
	var sections []string
	for _, a := range args[1:] {
		sections = append(sections, fold(a))
	}
	c.out.Verbatim("txt", c.backend.Info(sections))
}

func shutdown(c *Client, args [][]byte) {
	given := map[string]bool{}
	for _, a := range args[1:] {
		switch word := fold(a); word {
		case "nosave", "save", "now", "force", "abort":
			given[word] = true
		default:
			c.out.Error(command.ErrSyntax)
			return
		}
	}
	switch {
	case given["save"] && given["nosave"], given["abort"] && len(given) > 1:
		c.out.Error(command.ErrSyntax)
		return
	case given["abort"]:
		c.out.Error("ERR No shutdown in progress.")
		return
	}
	c.backend.Shutdown()
	c.closing = true
}

func save(c *Client, _ [][]byte) {
	write, err := c.backend.BeginSnapshot(false)
	if err == nil {
		err = write()
	}
	if err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.OK()
}

func bgsave(c *Client, args [][]byte) {
	if len(args) > 2 || (len(args) == 2 && fold(args[1]) != "schedule") {
		c.out.Error(command.ErrSyntax)
		return
	}
	write, err := c.backend.BeginSnapshot(true)
	if err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	go func() { _ = write() }()
	c.out.Status("Background saving started")
}

func lastSave(c *Client, _ [][]byte) { c.out.Int(c.backend.LastSnapshotUnix()) }

func readOnly(c *Client, _ [][]byte) {
	c.readonly = true
	c.out.OK()
}

func readWrite(c *Client, _ [][]byte) {
	c.readonly = false
	c.out.OK()
}

func asking(c *Client, _ [][]byte) { c.out.OK() }

// debugSleepMax bounds DEBUG SLEEP.
const debugSleepMax = 3600 * time.Second

func debugCommand(c *Client, args [][]byte) {
	switch sub := fold(args[1]); {
	case sub == "sleep" && len(args) == 3:
		c.debugSleep(args[2])
	case sub == "set-active-expire" && len(args) == 3:
		c.backend.SetActiveExpire(string(args[2]) != "0")
		c.out.OK()
	case sub == "reload":
		if err := c.backend.Reload(); err != nil {
			c.out.Error("ERR " + err.Error())
			return
		}
		c.out.OK()
	case sub == "digest" && len(args) == 2:
		c.out.Raw(c.everywhere(digestSpec, digestArgs))
	case sub == "digest-value" && len(args) == 2:
		c.out.Array(0)
	case sub == "digest-value":
		c.out.Raw(c.one(c.internal(append([][]byte{[]byte("lockstep.digest-value")}, args[2:]...)...)))
	case sub == "help":
		c.help("DEBUG <subcommand> [<arg> ...]. Subcommands are:",
			"DIGEST", "    Show a digest of all data.",
			"DIGEST-VALUE <key> [<key> ...]", "    Show the digests of values.",
			"RELOAD", "    Write a snapshot of every shard and load it again.",
			"SET-ACTIVE-EXPIRE <0|1>", "    Turn the search for due keys off or on.",
			"SLEEP <seconds>", "    Hold this connection for so long.")
	default:
		c.out.Error(fmt.Sprintf("ERR unknown subcommand or wrong number of arguments for '%s'. Try DEBUG HELP.", args[1]))
	}
}

// digestSpec is the row behind DEBUG DIGEST.
var (
	digestArgs = [][]byte{[]byte("lockstep.digest")}
	digestSpec = commands.Get("lockstep.digest")
)

const errDebug = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server."

func (c *Client) mayDebug() bool {
	switch c.settings.DebugFor {
	case "yes":
		return true
	case "local":
		return isLoopback(c.conn.RemoteAddr())
	}
	return false
}

func (c *Client) debugSleep(arg []byte) {
	// Redis takes for 0 what is no number.
	sec, _ := strconv.ParseFloat(string(arg), 64)
	t := time.NewTimer(min(time.Duration(sec*float64(time.Second)), debugSleepMax))
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
	c.out.OK()
}

// help writes a container's HELP, in Redis's form.
func (c *Client) help(lines ...string) {
	lines = append(lines, "HELP", "    Prints this help.")
	c.out.Array(len(lines))
	for _, l := range lines {
		c.out.Status(l)
	}
}
