package client

import (
	"context"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/hashslot"
)

// clusterFunctions are the subcommands of CLUSTER.
var clusterFunctions = inCluster(group{
	"cluster|info": clusterInfo, "cluster|nodes": clusterNodes, "cluster|slots": clusterSlots,
	"cluster|shards": clusterShards, "cluster|myid": clusterMyID, "cluster|keyslot": clusterKeySlot,
	"cluster|countkeysinslot": clusterCountKeys, "cluster|getkeysinslot": clusterGetKeys, "cluster|help": clusterHelp,
})

func clusterInfo(c *Client, _ [][]byte) { c.out.Verbatim("txt", c.backend.ClusterInfo()) }

func clusterNodes(c *Client, _ [][]byte) { c.out.Verbatim("txt", c.backend.ClusterNodes()) }

func clusterMyID(c *Client, _ [][]byte) { c.out.BulkString(c.backend.MyID()) }

func clusterKeySlot(c *Client, args [][]byte) { c.out.Int(int64(slotOf(args[2]))) }

func clusterSlots(c *Client, _ [][]byte) {
	owners := c.backend.SlotOwners()
	c.out.Array(len(owners))
	for _, o := range owners {
		c.out.Array(2 + len(o.Nodes))
		c.out.Int(int64(o.First))
		c.out.Int(int64(o.Last))
		for _, n := range o.Nodes {
			c.out.Array(4)
			c.out.BulkString(n.Host)
			c.out.Int(int64(n.Port))
			c.out.BulkString(n.ID)
			if n.Host == n.IP || n.IP == "" {
				c.out.Map(0)
				continue
			}
			c.out.Map(1)
			c.pair("ip", n.IP)
		}
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
	c.out.Map(7)
	c.pair("id", n.ID)
	c.out.BulkString("port")
	c.out.Int(int64(n.Port))
	c.pair("ip", n.IP)
	c.pair("endpoint", n.Host)
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

// inCluster makes functions that answer only where clients are shown a cluster.
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
		c.out.Error("ERR Invalid slot")
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
		"COUNTKEYSINSLOT <slot>", "    Return the number of keys in <slot>.",
		"GETKEYSINSLOT <slot> <count>", "    Return key names stored by current node in a slot.",
		"INFO", "    Return information about the cluster.",
		"KEYSLOT <key>", "    Return the hash slot for <key>.",
		"MYID", "    Return the node id.",
		"NODES", "    Return cluster configuration seen by node. Output format:", "    <id> <ip:port@bus-port[,hostname]> <flags> <master> <pings> <pongs> <epoch> <link> <slot> ...",
		"SLOTS", "    Return information about slots range mappings. Each range is made of:", "    start, end, master and replicas IP addresses, ports and ids",
		"SHARDS", "    Return information about slot range mappings and the nodes associated with them.")
}

// lockstepFunctions are the subcommands of LOCKSTEP.
var lockstepFunctions = group{
	"lockstep|status": lockstepStatus, "lockstep|slots": lockstepSlots, "lockstep|commands": lockstepCommands,
	"lockstep|transfer": lockstepOrder, "lockstep|remove": lockstepOrder, "lockstep|leave": lockstepOrder, "lockstep|snapshot": lockstepOrder,
	"lockstep|help": lockstepHelp,
}

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

func lockstepOrder(c *Client, args [][]byte) {
	var words []string
	for _, a := range args[1:] {
		words = append(words, string(a))
	}
	ctx, cancel := context.WithTimeout(c.ctx, orderTimeout)
	defer cancel()
	said, err := c.backend.Order(ctx, words)
	if err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	c.out.BulkString(said)
}

func lockstepSlots(c *Client, _ [][]byte) {
	slots := c.backend.LockSlots()
	c.out.Array(len(slots))
	for _, s := range slots {
		c.out.Map(7)
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
		c.out.BulkString("held-by")
		c.out.Array(len(s.Labels))
		for _, l := range s.Labels {
			c.out.BulkString(l)
		}
	}
}

func lockstepHelp(c *Client, _ [][]byte) {
	c.help("LOCKSTEP <subcommand> [<arg> ...]. Subcommands are:",
		"COMMANDS", "    List the commands of this server.",
		"LEAVE", "    Let this node leave the cluster for good.",
		"REMOVE <node> [FORCE]", "    Take a node out of the cluster for good.",
		"SLOTS", "    List the lock slots that are held or waited for now.",
		"SNAPSHOT", "    Write a snapshot of every shard and cut the logs.",
		"STATUS", "    Describe the whole cluster, in JSON.",
		"TRANSFER [<shard>|meta|all] [<node>]", "    Give the leadership of a shard to another node.")
}
