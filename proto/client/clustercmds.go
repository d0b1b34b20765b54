package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep/cluster/meta/courier"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/hashslot"
)

// clusterHandlers are the subcommands of CLUSTER.
var clusterHandlers = inCluster(withRefused("cluster", group{
	"cluster|info": known(clusterInfo), "cluster|nodes": known(clusterNodes), "cluster|slots": known(clusterSlots),
	"cluster|shards": known(clusterShards), "cluster|myid": clusterMyID, "cluster|keyslot": clusterKeySlot,
	"cluster|countkeysinslot": clusterCountKeys, "cluster|getkeysinslot": clusterGetKeys, "cluster|help": clusterHelp,
	"cluster|replicas": known(clusterReplicas), "cluster|slaves": known(clusterReplicas), "cluster|links": clusterLinks,
	"cluster|count-failure-reports": clusterFailureReports, "cluster|myshardid": func(c *Client, _ [][]byte) { c.out.BulkString(c.backend.ShardID()) },
	"cluster|saveconfig": func(c *Client, _ [][]byte) { c.out.OK() },
}))

// withRefused adds the subcommands of a container that are refused, and say why.
func withRefused(container string, g group) group {
	for _, s := range commands.Get(container).Sub {
		if why := commands.Refused(s.Name); why != "" {
			g[s.Name] = func(c *Client, _ [][]byte) {
				c.out.Error("ERR " + strings.ToUpper(strings.Replace(s.Name, "|", " ", 1)) + " is refused: " + why)
			}
		}
	}
	return g
}

const errNotKnown = "CLUSTERDOWN this node has not heard yet which nodes there are"

// known makes a handler that answers only where the cluster is known.
func known(run func(*Client, [][]byte)) func(*Client, [][]byte) {
	return func(c *Client, args [][]byte) {
		if !c.backend.KnowsCluster() {
			c.out.Error(errNotKnown)
			return
		}
		run(c, args)
	}
}

func clusterInfo(c *Client, _ [][]byte) { c.out.Verbatim("txt", c.backend.ClusterInfo()) }

// clusterNodes writes a line for each node, in Redis Cluster's form.
func clusterNodes(c *Client, _ [][]byte) {
	var b strings.Builder
	for _, n := range c.backend.ClusterNodes() {
		b.WriteString(n.line(c.conn.Secured()) + "\n")
	}
	c.out.Verbatim("txt", b.String())
}

// line is a node's line, without its end.
func (n *ClusterNode) line(secured bool) string {
	name, flags, master, link := "", "master", "-", "connected"
	if n.Hostname != "" {
		name = "," + n.Hostname
	}
	if n.Master != "" {
		flags, master = "slave", n.Master
	}
	if n.Myself {
		flags = "myself," + flags
	}
	if !n.Healthy {
		flags, link = flags+",fail", "disconnected"
	}
	line := fmt.Sprintf("%s %s:%d@%d%s %s %s 0 0 %d %s", n.ID, n.IP, n.PortFor(secured), n.BusPort, name, flags, master, n.Epoch, link)
	for _, r := range n.Slots {
		line += " " + rangeText(r)
	}
	return line
}

func rangeText(r [2]int) string {
	if r[0] == r[1] {
		return strconv.Itoa(r[0])
	}
	return fmt.Sprintf("%d-%d", r[0], r[1])
}

// clusterNode finds a node by its id, or answers that there is none.
func (c *Client) clusterNode(all []ClusterNode, id []byte) *ClusterNode {
	for i := range all {
		if all[i].ID == string(id) {
			return &all[i]
		}
	}
	c.out.Error("ERR Unknown node " + string(id))
	return nil
}

func clusterReplicas(c *Client, args [][]byte) {
	all := c.backend.ClusterNodes()
	master := c.clusterNode(all, args[2])
	switch {
	case master == nil:
		return
	case master.Master != "":
		c.out.Error("ERR The specified node is not a master")
		return
	}
	var lines []string
	for _, n := range all {
		if n.Master == master.ID {
			lines = append(lines, n.line(c.conn.Secured()))
		}
	}
	c.out.Array(len(lines))
	for _, line := range lines {
		c.out.BulkString(line)
	}
}

// clusterFailureReports answers that nobody reports failures, which is so.
func clusterFailureReports(c *Client, args [][]byte) {
	if c.clusterNode(c.backend.ClusterNodes(), args[2]) != nil {
		c.out.Int(0)
	}
}

func clusterLinks(c *Client, _ [][]byte) {
	links := c.backend.ClusterLinks()
	c.out.Array(len(links))
	for _, l := range links {
		direction, events := "from", "r"
		if l.Outgoing {
			direction = "to"
		}
		if l.QueuedBytes > 0 {
			events = "rw"
		}
		c.out.Map(6)
		c.pair("direction", direction)
		c.pair("node", l.Node)
		c.out.BulkString("create-time")
		c.out.Int(l.SinceMs)
		c.pair("events", events)
		c.out.BulkString("send-buffer-allocated")
		c.out.Int(l.QueuedBytes)
		c.out.BulkString("send-buffer-used")
		c.out.Int(l.QueuedBytes)
	}
}

func clusterMyID(c *Client, _ [][]byte) { c.out.BulkString(c.backend.MyID()) }

func clusterKeySlot(c *Client, args [][]byte) { c.out.Int(int64(slotOf(args[2]))) }

func clusterSlots(c *Client, _ [][]byte) {
	owners := c.backend.SlotOwners()
	c.out.Array(len(owners))
	for _, o := range owners {
		c.out.Array(2 + len(o.Nodes))
		c.out.Int(int64(o.First))
		c.out.Int(int64(o.Last))
		for i := range o.Nodes {
			c.slotNode(&o.Nodes[i])
		}
	}
}

// slotNode writes a node of CLUSTER SLOTS: what to dial, and what else is known
// of where it is.
func (c *Client) slotNode(n *SlotNode) {
	c.out.Array(4)
	kind := c.settings.Endpoint
	if host, known := n.Endpoint(kind); known {
		c.out.BulkString(host)
	} else {
		c.out.Null()
	}
	c.out.Int(int64(n.PortFor(c.conn.Secured())))
	c.out.BulkString(n.ID)
	more := make([]string, 0, 4)
	if kind != EndpointIP {
		more = append(more, "ip", n.IP)
	}
	if kind != EndpointHostname && n.Hostname != "" {
		more = append(more, "hostname", n.Hostname)
	}
	c.out.Map(len(more) / 2)
	for _, text := range more {
		c.out.BulkString(text)
	}
}

func clusterShards(c *Client, _ [][]byte) {
	owners := c.backend.SlotOwners()
	c.out.Array(len(owners))
	for _, o := range owners {
		c.out.Map(2)
		c.out.BulkString("slots")
		c.out.Array(2)
		c.out.Int(int64(o.First))
		c.out.Int(int64(o.Last))
		c.out.BulkString("nodes")
		c.out.Array(len(o.Nodes))
		for _, n := range o.Nodes {
			c.shardNode(&n)
		}
	}
}

func (c *Client) shardNode(n *SlotNode) {
	fields := 6
	for _, more := range []bool{n.Hostname != "", n.Port != 0, n.TLSPort != 0} {
		if more {
			fields++
		}
	}
	c.out.Map(fields)
	c.pair("id", n.ID)
	if n.Port != 0 {
		c.out.BulkString("port")
		c.out.Int(int64(n.Port))
	}
	if n.TLSPort != 0 {
		c.out.BulkString("tls-port")
		c.out.Int(int64(n.TLSPort))
	}
	c.pair("ip", n.IP)
	host, _ := n.Endpoint(c.settings.Endpoint)
	c.pair("endpoint", host)
	if n.Hostname != "" {
		c.pair("hostname", n.Hostname)
	}
	role, health := "replica", "online"
	if n.Leads {
		role = "master"
	}
	if !n.Healthy {
		health = "failed"
	}
	c.pair("role", role)
	c.out.BulkString("replication-offset")
	c.out.Int(n.Offset)
	c.pair("health", health)
}

// inCluster makes handlers that answer only where clients are shown a cluster.
func inCluster(g group) group {
	for name, run := range g {
		g[name] = func(c *Client, args [][]byte) {
			if c.backend.Mode() != "cluster" {
				c.out.Error("ERR This instance has cluster support disabled")
				return
			}
			run(c, args)
		}
	}
	return g
}

// slotArg reads a hash slot.
func (c *Client) slotArg(arg []byte) (int, bool) {
	n, ok := parseInt(arg)
	if !ok {
		c.out.Error(command.ErrNotInteger)
		return 0, false
	}
	if n < 0 || n >= hashslot.Count {
		c.out.Error(command.ErrHashSlot)
		return 0, false
	}
	return int(n), true
}

func clusterCountKeys(c *Client, args [][]byte) {
	slot, ok := c.slotArg(args[2])
	if !ok {
		return
	}
	call := c.internal([]byte("lockstep.countkeysinslot"), args[2])
	call.SetSlot(slot)
	c.out.Raw(c.one(call))
}

func clusterGetKeys(c *Client, args [][]byte) {
	slot, ok := parseInt(args[2])
	n, isNumber := parseInt(args[3])
	switch {
	case !ok || !isNumber:
		c.out.Error(command.ErrNotInteger)
		return
	case slot < 0 || slot >= hashslot.Count || n < 0:
		c.out.Error("ERR Invalid slot or number of keys")
		return
	}
	call := c.internal([]byte("lockstep.getkeysinslot"), args[2], args[3])
	call.SetSlot(int(slot))
	c.out.Raw(c.one(call))
}

func clusterHelp(c *Client, _ [][]byte) {
	c.help("CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"COUNT-FAILURE-REPORTS <node-id>", "    Return number of failure reports for <node-id>.",
		"COUNTKEYSINSLOT <slot>", "    Return the number of keys in <slot>.",
		"GETKEYSINSLOT <slot> <count>", "    Return key names stored by current node in a slot.",
		"INFO", "    Return information about the cluster.",
		"KEYSLOT <key>", "    Return the hash slot for <key>.",
		"LINKS", "    Return information about the links between this node and its peers.",
		"MYID", "    Return the node id.",
		"MYSHARDID", "    Return the id of the node's shard.",
		"NODES", "    Return cluster configuration seen by node. Output format:", "    <id> <ip:port@bus-port[,hostname]> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
		"REPLICAS <node-id>", "    Return <node-id> replicas.",
		"SAVECONFIG", "    Does nothing: the configuration is on disk.",
		"SLOTS", "    Return information about slots range mappings. Each range is made of:", "    start, end, master and replicas IP addresses, ports and ids",
		"SHARDS", "    Return information about slot range mappings and the nodes associated with them.")
}

// lockstepHandlers are the subcommands of LOCKSTEP.
var lockstepHandlers = group{
	"lockstep|status": lockstepStatus, "lockstep|slots": lockstepSlots, "lockstep|commands": lockstepCommands,
	"lockstep|transfer": lockstepOrder, "lockstep|remove": lockstepOrder, "lockstep|leave": lockstepOrder, "lockstep|snapshot": lockstepOrder,
	"lockstep|replace": lockstepOrder, "lockstep|promote": lockstepOrder, "lockstep|drain": lockstepOrder, "lockstep|clock": lockstepOrder, "lockstep|upgrade": lockstepOrder,
	"lockstep|examine": lockstepExamine, "lockstep|support": lockstepOrder, "lockstep|secret": lockstepOrder,
	"lockstep|replicas": lockstepOrder, "lockstep|placement": lockstepPlacement,
	"lockstep|backup": lockstepBackup,
	"lockstep|help":   lockstepHelp,
}

// ErrHalfDone: a part of an operator's order was carried out; the error tells which.
var ErrHalfDone = errors.New("done in part")

// orderTimeout bounds an operator's order.
const orderTimeout = 50 * time.Second

func lockstepStatus(c *Client, _ [][]byte) {
	data, err := c.backend.StatusJSON(c.ctx)
	if err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.Bulk(data)
}

func lockstepExamine(c *Client, _ [][]byte) { answerJSON(c, c.backend.ExamineJSON) }

func lockstepPlacement(c *Client, _ [][]byte) { answerJSON(c, c.backend.PlacementJSON) }

func answerJSON(c *Client, ask func(context.Context) ([]byte, error)) {
	ctx, cancel := context.WithTimeout(c.ctx, orderTimeout)
	defer cancel()
	data, err := ask(ctx)
	if err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.Bulk(data)
}

func lockstepOrder(c *Client, args [][]byte) {
	var words []string
	for _, a := range args[1:] {
		words = append(words, string(a))
	}
	ctx, cancel := context.WithTimeout(c.ctx, orderTimeout)
	defer cancel()
	said, err := c.backend.Order(ctx, words)
	switch {
	case err == nil:
		c.out.BulkString(said)
	case errors.Is(err, ErrHalfDone):
		c.out.Error("INDETERMINATE " + err.Error())
	case errors.Is(err, courier.ErrUnanswered), errors.Is(err, context.DeadlineExceeded):
		c.out.Error("INDETERMINATE it may have been done, or be under way: " + err.Error())
	default:
		c.out.Error("ERR " + err.Error())
	}
}

func lockstepSlots(c *Client, _ [][]byte) {
	slots := c.backend.LockSlots()
	c.out.Array(len(slots))
	for _, s := range slots {
		c.out.Map(9)
		c.out.BulkString("shard")
		c.out.Int(int64(s.Shard))
		c.out.BulkString("lock-slot")
		c.out.Int(int64(s.Slot))
		c.pair("mode", s.Mode)
		c.out.BulkString("holders")
		c.out.Int(int64(s.Holders))
		c.out.BulkString("waiting-readers")
		c.out.Int(int64(s.Readers))
		c.out.BulkString("waiting-writers")
		c.out.Int(int64(s.Writers))
		c.texts("held-by", s.Labels)
		c.out.BulkString("held-ms")
		c.out.Int(s.HeldMs)
		c.texts("queue", s.Queue)
	}
}

// texts is a field that is a list.
func (c *Client) texts(name string, list []string) {
	c.out.BulkString(name)
	c.out.Array(len(list))
	for _, text := range list {
		c.out.BulkString(text)
	}
}

func lockstepHelp(c *Client, _ [][]byte) {
	c.help("LOCKSTEP <subcommand> [<arg> ...]. Subcommands are:",
		"BACKUP BEGIN | NEXT <node> <id> | END <node> <id> | DONE <milliseconds>", "    Read one consistent RDB file of each shard, in pieces; clusterctl backup does.",
		"CLOCK ADOPT", "    Set the time of day of each shard to what a majority of its voters' clocks show, at once.",
		"COMMANDS", "    List the commands of this server.",
		"DRAIN <node> [OFF]", "    Let a node give up its leaderships and give it none, replicas too where others can take them; OFF ends that.",
		"EXAMINE", "    Describe the nodes' machines, in JSON.",
		"LEAVE", "    Let this node leave the cluster for good.",
		"PLACEMENT", "    Describe where replicas and leaders are, what moves, and what is to be done, in JSON.",
		"PROMOTE <node>", "    Let a learner vote.",
		"REMOVE <node> [FORCE]", "    Take a node out of the cluster for good.",
		"REPLACE <node> <successor>", "    Take a node out once another one, which has joined, can take its place.",
		"REPLICAS <count>", "    Set how many replicas each shard is to have.",
		"SECRET ROTATE", "    Give the cluster a new secret, without a stop; every node must answer.",
		"SLOTS", "    List the lock slots that are held or waited for now.",
		"SNAPSHOT", "    Write a snapshot of every shard and cut the logs.",
		"STALENESS <milliseconds>", "    Let no READONLY read of this connection see what is older; 0: no bound.",
		"STATUS", "    Describe the whole cluster, in JSON.",
		"TOKEN", "    Return a token of all that this connection has seen and done.",
		"SUPPORT", "    Describe this node for a bundle of support, in JSON, without keys, values or secrets.",
		"TRANSFER [<shard>|meta|all] [<node>]", "    Give the leadership of a shard to another node.",
		"UPGRADE [<version>]", "    Let nodes write what a newer version of lockstep brings.",
		"WAITFOR <token> [<milliseconds>]", "    Let this connection's reads see what <token> names: 1 if this node has it", "    already, 0 if the leaders will be asked until it has.")
}
