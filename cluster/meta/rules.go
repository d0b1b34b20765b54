package meta

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// These bounds keep the state small: it is copied at every change and sent whole.
const (
	MaxNodes         = 128
	MaxShards        = 256
	MaxSettings      = 1024
	MaxSettingBytes  = 64 << 10
	maxNameBytes     = 128
	maxAddrBytes     = 300
	maxTombstones    = 256
	maxVersionBytes  = 128
	maxLockSlots     = 1 << 20
	maxTimeoutMs     = 10 * 60 * 1000
	maxClusterIDSize = 64
)

func (c *CreateCluster) apply(v *View) (bool, error) {
	if v.Created() {
		if v.ClusterID == c.ClusterID {
			return false, nil
		}
		return false, ErrOtherCluster.With(fmt.Sprintf("the cluster exists already, with id %s", v.ClusterID))
	}
	if c.ClusterID == "" || len(c.ClusterID) > maxClusterIDSize {
		return false, ErrInvalid.With("a cluster needs an id")
	}
	if err := c.Creation.Validate(); err != nil {
		return false, err
	}
	if err := c.Founder.validate(); err != nil {
		return false, err
	}
	founder := c.Founder
	founder.State = Member
	v.ClusterID, v.ClusterVersion = c.ClusterID, c.ClusterVersion
	v.Creation = c.Creation
	v.Nodes = []Node{founder}
	v.Shards = layShards(c.Creation.Shards())
	v.Replicas = c.Creation.Replicas
	v.placeEverywhere()
	v.shardOfSlot = slotTable(v.Shards)
	return true, nil
}

func (c *AddNode) apply(v *View) (bool, error) {
	if !v.Created() {
		return false, ErrNotCreated
	}
	n := c.Node
	if err := n.validate(); err != nil {
		return false, err
	}
	if old, ok := v.Node(n.ID); ok {
		if !old.State.Live() {
			return false, removedRefusal(old)
		}
		again := UpdateNode{ID: n.ID, PeerAddr: n.PeerAddr, ClientAddr: n.ClientAddr, Hostname: n.Hostname, AdminAddr: n.AdminAddr, TLSPort: n.TLSPort, Version: n.Version}
		return again.apply(v)
	}
	if len(v.Nodes) >= MaxNodes {
		return false, ErrTooMany.With(fmt.Sprintf("the cluster has %d nodes already", len(v.Nodes)))
	}
	namesake := slices.IndexFunc(v.Nodes, func(o Node) bool { return o.State.Live() && o.Name == n.Name })
	if namesake >= 0 && !c.Replace {
		return false, ErrNameTaken.With(fmt.Sprintf("a node named %s is already a member with another data folder; "+
			"if its data is gone, remove it first or join with --replace", n.Name))
	}
	for i, o := range v.Nodes {
		if i != namesake && o.State.Live() && o.PeerAddr == n.PeerAddr {
			return false, addrRefusal(n.PeerAddr, o)
		}
	}
	if namesake >= 0 {
		v.Nodes[namesake].State = Leaving
		v.Nodes[namesake].ReplacedBy = n.ID
	}
	n.State = Joining
	at, _ := findNode(v.Nodes, n.ID)
	v.Nodes = slices.Insert(v.Nodes, at, n)
	return true, nil
}

func (c *UpdateNode) apply(v *View) (bool, error) {
	i, err := liveNode(v, c.ID)
	if err != nil {
		return false, err
	}
	n := v.Nodes[i]
	n.PeerAddr, n.ClientAddr, n.Hostname, n.AdminAddr, n.TLSPort, n.Version = c.PeerAddr, c.ClientAddr, c.Hostname, c.AdminAddr, c.TLSPort, c.Version
	if err := n.validate(); err != nil {
		return false, err
	}
	for j, o := range v.Nodes {
		if j != i && o.State.Live() && o.PeerAddr == n.PeerAddr {
			return false, addrRefusal(n.PeerAddr, o)
		}
	}
	was := v.Nodes[i]
	v.Nodes[i] = n
	same := was.PeerAddr == n.PeerAddr && was.ClientAddr == n.ClientAddr && was.Hostname == n.Hostname &&
		was.AdminAddr == n.AdminAddr && was.TLSPort == n.TLSPort && was.Version == n.Version
	return !same, nil
}

func (c *MarkMember) apply(v *View) (bool, error) {
	i, err := liveNode(v, c.ID)
	if err != nil {
		return false, err
	}
	if v.Nodes[i].State == Member {
		return false, nil
	}
	v.Nodes[i].State = Member
	return true, nil
}

func (c *RemoveNode) apply(v *View) (bool, error) {
	i, ok := findNode(v.Nodes, c.ID)
	if !ok {
		if _, known := v.Node(c.ID); known {
			return false, nil // removed already
		}
		return false, unknownRefusal(c.ID)
	}
	if c.InFavourOf != "" {
		if _, err := liveNode(v, c.InFavourOf); err != nil {
			return false, err
		}
		if c.InFavourOf == c.ID {
			return false, ErrInvalid.With("a node cannot take its own place")
		}
	}
	n := &v.Nodes[i]
	if !n.State.Live() {
		changed := c.Force && !n.Forced
		n.Forced = n.Forced || c.Force
		return changed, nil
	}
	if len(v.Live()) == 1 {
		return false, ErrLastNode.With(fmt.Sprintf("%s is the last node of the cluster and cannot be removed", n.Name))
	}
	n.State = Leaving
	n.Forced = c.Force
	n.ReplacedBy = c.InFavourOf
	return true, nil
}

func (c *Detach) apply(v *View) (bool, error) {
	i, ok := findNode(v.Nodes, c.ID)
	if !ok {
		if _, known := v.Node(c.ID); known {
			return false, nil
		}
		return false, unknownRefusal(c.ID)
	}
	if v.Nodes[i].State.Live() {
		return false, ErrInvalid.With(fmt.Sprintf("%s is not leaving", c.ID))
	}
	if c.Group != GroupID && uint64(c.Group) >= uint64(len(v.Shards)) {
		return false, ErrInvalid.With(fmt.Sprintf("there is no shard %d", c.Group))
	}
	if v.Placed() && c.Group != GroupID && v.Shards[c.Group].Has(c.ID) {
		return false, ErrStale.With(fmt.Sprintf("shard %d still wants its replica on %s", c.Group, c.ID))
	}
	at, done := slices.BinarySearch(v.Nodes[i].DetachedFrom, c.Group)
	if done {
		return false, nil
	}
	n := v.Nodes[i]
	// A new array: the old one belongs to earlier views.
	n.DetachedFrom = slices.Insert(slices.Clone(n.DetachedFrom), at, c.Group)
	v.Nodes[i] = n
	if len(n.DetachedFrom) == len(v.Shards)+1 {
		v.bury(i)
	}
	return true, nil
}

// bury moves node i to the tombstones, and drops the oldest tombstones if there are too many.
func (v *View) bury(i int) {
	n := v.Nodes[i]
	n.State = Removed
	n.DetachedFrom = nil
	v.forget(n.ID)
	v.Nodes = slices.Delete(v.Nodes, i, i+1)
	v.Tombstones = append(v.Tombstones, n)
	if extra := len(v.Tombstones) - maxTombstones; extra > 0 {
		v.Tombstones = slices.Delete(v.Tombstones, 0, extra)
	}
}

func (c *SetSettings) apply(v *View) (bool, error) {
	if !v.Created() {
		return false, ErrNotCreated
	}
	size, fresh := 0, 0
	for name, value := range c.Set { // order does not matter: sums only
		if name == "" || len(name) > maxNameBytes {
			return false, ErrInvalid.With("a setting needs a name")
		}
		size += len(value)
		if _, known := v.Settings[name]; !known {
			fresh++
		}
	}
	if size > MaxSettingBytes || len(v.Settings)+fresh > MaxSettings {
		return false, ErrTooMany.With("too many or too long settings")
	}
	changed := false
	for name, value := range c.Set { // order does not matter: each name once
		if old, ok := v.Settings[name]; !ok || old != value {
			v.Settings[name] = value
			changed = true
		}
	}
	for _, name := range c.Unset {
		if _, ok := v.Settings[name]; ok {
			delete(v.Settings, name)
			changed = true
		}
	}
	return changed, nil
}

// Validate reports whether a cluster can be created with these choices.
func (c *Creation) Validate() error {
	switch {
	case c.Shards() < 1 || c.Shards() > MaxShards:
		return ErrInvalid.With(fmt.Sprintf("a cluster has 1 to %d shards, not %d", MaxShards, c.Shards()))
	case c.Replicas < 0 || c.Replicas > MaxReplicas:
		return ErrInvalid.With(fmt.Sprintf("a shard has 1 to %d replicas, not %d", MaxReplicas, c.Replicas))
	case c.LockSlots < 1 || c.LockSlots > maxLockSlots:
		return ErrInvalid.With(fmt.Sprintf("an engine has 1 to %d lock slots, not %d", maxLockSlots, c.LockSlots))
	case c.HeartbeatMs < 1 || c.HeartbeatMs > maxTimeoutMs || c.ElectionMs < 1 || c.ElectionMs > maxTimeoutMs:
		return ErrInvalid.With(fmt.Sprintf("heartbeat and election time are 1 to %d ms", maxTimeoutMs))
	}
	return nil
}

func (n *Node) validate() error {
	if err := ValidateName(n.Name); err != nil {
		return err
	}
	if n.Incarnation == 0 || n.ID != MakeNodeID(n.Name, n.Incarnation) {
		return ErrInvalid.With(fmt.Sprintf("node id %q does not belong to name %q and incarnation %016x", n.ID, n.Name, n.Incarnation))
	}
	if err := validateAddr("peer", n.PeerAddr); err != nil {
		return err
	}
	if len(n.Hostname) > maxAddrBytes {
		return ErrInvalid.With(fmt.Sprintf("the host name %.40q... is longer than %d bytes", n.Hostname, maxAddrBytes))
	}
	if err := validateAddr("client", n.ClientAddr); err != nil {
		return err
	}
	if n.AdminAddr != "" {
		if err := validateAddr("admin", n.AdminAddr); err != nil {
			return err
		}
	}
	if n.TLSPort < 0 || n.TLSPort > 65535 {
		return ErrInvalid.With(fmt.Sprintf("the TLS port %d is none", n.TLSPort))
	}
	if len(n.Version) > maxVersionBytes {
		return ErrInvalid.With("the version's text is too long")
	}
	return nil
}

// ValidateName reports whether name can be the name of a node.
func ValidateName(name string) error {
	if name == "" || len(name) > maxNameBytes {
		return ErrInvalid.With(fmt.Sprintf("a node's name has 1 to %d characters", maxNameBytes))
	}
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0 {
			continue
		}
		return ErrInvalid.With(fmt.Sprintf("the node name %q may only hold letters, digits, and . _ -", name))
	}
	return nil
}

func validateAddr(what, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" || port == "" || port == "0" || len(addr) > maxAddrBytes {
		return ErrInvalid.With(fmt.Sprintf("the %s address %q is not host:port", what, addr))
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return ErrInvalid.With(fmt.Sprintf("the %s address %q cannot be dialled by other nodes; announce a name or an IP", what, addr))
	}
	return nil
}

// liveNode finds a node that should hold replicas, or returns a refusal that says what happened to
// it.
func liveNode(v *View, id NodeID) (int, error) {
	i, ok := findNode(v.Nodes, id)
	if ok && v.Nodes[i].State.Live() {
		return i, nil
	}
	if n, known := v.Node(id); known {
		return 0, removedRefusal(n)
	}
	return 0, unknownRefusal(id)
}

func removedRefusal(n Node) error {
	if n.ReplacedBy != "" {
		return ErrRemoved.With(fmt.Sprintf("node %s was replaced by %s; its data folder cannot be used again", n.ID, n.ReplacedBy))
	}
	return ErrRemoved.With(fmt.Sprintf("node %s was removed from the cluster; its data folder cannot be used again", n.ID))
}

func unknownRefusal(id NodeID) error {
	return ErrUnknownNode.With(fmt.Sprintf("the cluster has no node %s", id))
}

func addrRefusal(addr string, o Node) error {
	return ErrAddrTaken.With(fmt.Sprintf("the peer address %s belongs to node %s already", addr, o.ID))
}
