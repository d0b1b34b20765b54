package admin

import (
	"fmt"
	"strconv"
	"strings"

	"lockstep/engine/command"
	"lockstep/engine/hashslot"
	"lockstep/proto/client"
)

// clusterCommands are the subcommands of CLUSTER.
type clusterCommands struct {
	view     ClusterView
	identity Identity
	facts    Facts
}

func (h *clusterCommands) handlers() client.Handlers {
	return h.inCluster(withRefused("cluster", client.Handlers{
		"cluster|info": h.known(h.info), "cluster|nodes": h.known(h.nodes), "cluster|slots": h.known(h.slots),
		"cluster|shards": h.known(h.shards), "cluster|myid": h.myID, "cluster|keyslot": clusterKeySlot,
		"cluster|countkeysinslot": clusterCountKeys, "cluster|getkeysinslot": clusterGetKeys, "cluster|help": clusterHelp,
		"cluster|replicas": h.known(h.replicas), "cluster|slaves": h.known(h.replicas), "cluster|links": h.links,
		"cluster|count-failure-reports": h.failureReports, "cluster|myshardid": h.myShardID,
		"cluster|saveconfig": func(r *client.Request, _ [][]byte) { r.Out.OK() },
	}))
}

func (h *clusterCommands) myShardID(r *client.Request, _ [][]byte) {
	r.Out.BulkString(h.identity.ShardID())
}

const errNotKnown = "CLUSTERDOWN this node has not heard yet which nodes there are"

// known makes a handler that answers only where the cluster is known.
func (h *clusterCommands) known(run client.Handler) client.Handler {
	return func(r *client.Request, args [][]byte) {
		if !h.view.KnowsCluster() {
			r.Out.Error(errNotKnown)
			return
		}
		run(r, args)
	}
}

func (h *clusterCommands) info(r *client.Request, _ [][]byte) {
	r.Out.Verbatim("txt", h.view.ClusterInfo())
}

// nodes writes a line for each node, in Redis Cluster's form.
func (h *clusterCommands) nodes(r *client.Request, _ [][]byte) {
	var b strings.Builder
	for _, n := range h.view.ClusterNodes() {
		b.WriteString(n.line(r.Secured()) + "\n")
	}
	r.Out.Verbatim("txt", b.String())
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
func clusterNode(r *client.Request, all []ClusterNode, id []byte) *ClusterNode {
	for i := range all {
		if all[i].ID == string(id) {
			return &all[i]
		}
	}
	r.Out.Error("ERR Unknown node " + string(id))
	return nil
}

func (h *clusterCommands) replicas(r *client.Request, args [][]byte) {
	all := h.view.ClusterNodes()
	master := clusterNode(r, all, args[2])
	switch {
	case master == nil:
		return
	case master.Master != "":
		r.Out.Error("ERR The specified node is not a master")
		return
	}
	var lines []string
	for _, n := range all {
		if n.Master == master.ID {
			lines = append(lines, n.line(r.Secured()))
		}
	}
	r.Out.Array(len(lines))
	for _, line := range lines {
		r.Out.BulkString(line)
	}
}

// failureReports answers that there are no failure reports, because nodes do not
// send any.
func (h *clusterCommands) failureReports(r *client.Request, args [][]byte) {
	if clusterNode(r, h.view.ClusterNodes(), args[2]) != nil {
		r.Out.Int(0)
	}
}

func (h *clusterCommands) links(r *client.Request, _ [][]byte) {
	links := h.view.ClusterLinks()
	r.Out.Array(len(links))
	for _, l := range links {
		direction, events := "from", "r"
		if l.Outgoing {
			direction = "to"
		}
		if l.QueuedBytes > 0 {
			events = "rw"
		}
		r.Out.Map(6)
		pair(r, "direction", direction)
		pair(r, "node", l.Node)
		r.Out.BulkString("create-time")
		r.Out.Int(l.SinceMs)
		pair(r, "events", events)
		r.Out.BulkString("send-buffer-allocated")
		r.Out.Int(l.QueuedBytes)
		r.Out.BulkString("send-buffer-used")
		r.Out.Int(l.QueuedBytes)
	}
}

func (h *clusterCommands) myID(r *client.Request, _ [][]byte) { r.Out.BulkString(h.identity.MyID()) }

func clusterKeySlot(r *client.Request, args [][]byte) { r.Out.Int(int64(hashslot.Of(args[2]))) }

func (h *clusterCommands) slots(r *client.Request, _ [][]byte) {
	owners := h.view.SlotOwners()
	r.Out.Array(len(owners))
	for _, o := range owners {
		r.Out.Array(2 + len(o.Nodes))
		r.Out.Int(int64(o.First))
		r.Out.Int(int64(o.Last))
		for i := range o.Nodes {
			slotNode(r, &o.Nodes[i])
		}
	}
}

// slotNode writes a node of CLUSTER SLOTS: the address to dial, and further details
// about the node's location.
func slotNode(r *client.Request, n *SlotNode) {
	r.Out.Array(4)
	kind := r.Settings().Endpoint
	if host, known := n.Endpoint(kind); known {
		r.Out.BulkString(host)
	} else {
		r.Out.Null()
	}
	r.Out.Int(int64(n.PortFor(r.Secured())))
	r.Out.BulkString(n.ID)
	more := make([]string, 0, 4)
	if kind != client.EndpointIP {
		more = append(more, "ip", n.IP)
	}
	if kind != client.EndpointHostname && n.Hostname != "" {
		more = append(more, "hostname", n.Hostname)
	}
	r.Out.Map(len(more) / 2)
	for _, text := range more {
		r.Out.BulkString(text)
	}
}

func (h *clusterCommands) shards(r *client.Request, _ [][]byte) {
	owners := h.view.SlotOwners()
	r.Out.Array(len(owners))
	for _, o := range owners {
		r.Out.Map(2)
		r.Out.BulkString("slots")
		r.Out.Array(2)
		r.Out.Int(int64(o.First))
		r.Out.Int(int64(o.Last))
		r.Out.BulkString("nodes")
		r.Out.Array(len(o.Nodes))
		for _, n := range o.Nodes {
			shardNode(r, &n)
		}
	}
}

func shardNode(r *client.Request, n *SlotNode) {
	fields := 6
	for _, more := range []bool{n.Hostname != "", n.Port != 0, n.TLSPort != 0} {
		if more {
			fields++
		}
	}
	r.Out.Map(fields)
	pair(r, "id", n.ID)
	if n.Port != 0 {
		r.Out.BulkString("port")
		r.Out.Int(int64(n.Port))
	}
	if n.TLSPort != 0 {
		r.Out.BulkString("tls-port")
		r.Out.Int(int64(n.TLSPort))
	}
	pair(r, "ip", n.IP)
	host, _ := n.Endpoint(r.Settings().Endpoint)
	pair(r, "endpoint", host)
	if n.Hostname != "" {
		pair(r, "hostname", n.Hostname)
	}
	role, health := "replica", "online"
	if n.Leads {
		role = "master"
	}
	if !n.Healthy {
		health = "failed"
	}
	pair(r, "role", role)
	r.Out.BulkString("replication-offset")
	r.Out.Int(n.Offset)
	pair(r, "health", health)
}

// inCluster makes handlers that answer only where clients see a cluster.
func (h *clusterCommands) inCluster(g client.Handlers) client.Handlers {
	for name, run := range g {
		g[name] = func(r *client.Request, args [][]byte) {
			if h.facts.Mode() != "cluster" {
				r.Out.Error("ERR This instance has cluster support disabled")
				return
			}
			run(r, args)
		}
	}
	return g
}

// slotArg reads a hash slot.
func slotArg(r *client.Request, arg []byte) (int, bool) {
	n, ok := parseInt(arg)
	if !ok {
		r.Out.Error(command.ErrNotInteger)
		return 0, false
	}
	if n < 0 || n >= hashslot.Count {
		r.Out.Error(command.ErrHashSlot)
		return 0, false
	}
	return int(n), true
}

func clusterCountKeys(r *client.Request, args [][]byte) {
	slot, ok := slotArg(r, args[2])
	if !ok {
		return
	}
	r.Out.Raw(r.ReadSlot(slot, []byte("lockstep.countkeysinslot"), args[2]))
}

func clusterGetKeys(r *client.Request, args [][]byte) {
	slot, ok := parseInt(args[2])
	n, isNumber := parseInt(args[3])
	switch {
	case !ok || !isNumber:
		r.Out.Error(command.ErrNotInteger)
		return
	case slot < 0 || slot >= hashslot.Count || n < 0:
		r.Out.Error("ERR Invalid slot or number of keys")
		return
	}
	r.Out.Raw(r.ReadSlot(int(slot), []byte("lockstep.getkeysinslot"), args[2], args[3]))
}

func clusterHelp(r *client.Request, _ [][]byte) {
	help(r, "CLUSTER <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
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
