package node

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/redcon"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/hashslot"
	"lockstep/fsm"
	"lockstep/node/status"
)

// front is the client port.
type front struct {
	n         *Node
	listeners []net.Listener
	server    *redcon.Server
	once      sync.Once
}

func (n *Node) openFront(context.Context) error {
	s := n.cfg.Current()
	f := &front{n: n}
	f.server = redcon.NewServerNetwork("tcp", "", f.handle, func(redcon.Conn) bool { return true }, func(redcon.Conn, error) {})
	for _, addr := range listenAddresses(s.Bind, s.Port) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return inWords(err, "port", s.Port)
		}
		f.listeners = append(f.listeners, l)
		go f.server.Serve(l)
	}
	n.front = f
	return nil
}

func (f *front) stopAccepting() {
	f.once.Do(func() {
		for _, l := range f.listeners {
			l.Close()
		}
	})
}

func (f *front) close(context.Context) { f.stopAccepting() }

func (f *front) handle(conn redcon.Conn, cmd redcon.Command) {
	cmds := append([]redcon.Command{cmd}, conn.ReadPipeline()...)
	calls := make([]*cluster.Call, len(cmds))
	var data []*cluster.Call
	out := make([][]byte, len(cmds))
	for i, c := range cmds {
		args := append([][]byte(nil), c.Args...)
		spec, _ := command.Lookup(args)
		if spec == nil || spec.Run == nil || !spec.CheckArity(len(args)) {
			out[i] = f.own(args)
			continue
		}
		args[0] = []byte(spec.Name)
		call := &cluster.Call{Txn: fsm.Txn{Proto: 2, Ops: []fsm.Op{{Args: args}}}, ReadOnly: !spec.Writes(args)}
		for _, k := range spec.AppendKeys(nil, args) {
			call.Slots = append(call.Slots, uint16(hashslot.Of(args[k.Pos])))
		}
		calls[i] = call
		data = append(data, call)
	}
	if len(data) > 0 {
		f.n.router.Do(f.n.ctx, data)
	}
	for i, c := range calls {
		switch {
		case c == nil:
			conn.WriteRaw(out[i])
		case c.Err != nil:
			conn.WriteError("INDETERMINATE " + c.Err.Error())
		default:
			conn.WriteRaw(c.Reply)
		}
	}
}

func (f *front) own(args [][]byte) []byte {
	switch strings.ToLower(string(args[0])) {
	case "ping":
		return []byte("+PONG\r\n")
	case "info":
		return redcon.AppendBulkString(nil, "# Raft\r\nraft_role:"+f.n.shards[0].Group().Stats().Role+"\r\n")
	case "lockstep":
		if len(args) > 1 {
			return f.n.order(args[1:])
		}
	case "config", "command", "client", "hello":
		return []byte("*0\r\n")
	}
	return redcon.AppendError(nil, "ERR unknown command")
}

func (f *front) fill(*status.Node) {}

func (n *Node) order(args [][]byte) []byte {
	var words []string
	for _, a := range args {
		words = append(words, string(a))
	}
	ctx, cancel := context.WithTimeout(n.ctx, 30*time.Second)
	defer cancel()
	if strings.EqualFold(words[0], "STATUS") {
		data, _ := json.Marshal(n.Status(ctx))
		return redcon.AppendBulk(nil, data)
	}
	text, err := n.Order(ctx, words)
	if err != nil {
		return redcon.AppendError(nil, "ERR "+err.Error())
	}
	return redcon.AppendBulkString(nil, text)
}
