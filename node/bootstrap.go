package node

import (
	"context"
	"errors"
	"net"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/transport"
	"lockstep/node/adminport"
	"lockstep/node/config"
)

// setAside moves the data of a removed node out of the folder, if the settings allow it, so that a
// new node can start there.
func (n *Node) setAside(context.Context) error {
	s := n.Config.Current()
	if !s.Rejoin || len(s.Join) == 0 {
		return nil
	}
	where, err := identity.SetAside(s.Dir)
	if err == nil && where != "" {
		n.Log.Warn("the node that lived in this folder was removed from its cluster; its data is set aside, and a new node begins here", "dir", where)
	}
	return err
}

// joinOrFound looks for a cluster, or for enough nodes to found one. It runs if this node has an empty
// folder and bootstrap-expect is set. When it returns, the node has either joined a cluster or is
// to found one.
//
// It uses a peer port of its own that answers only requests of this search, so that no peer meets a
// half-opened node.
func (n *Node) joinOrFound(ctx context.Context) error {
	s := n.Config.Current()
	if n.Self.Phase != identity.Joining || s.BootstrapExpect == 0 {
		return nil
	}
	before, err := n.Folder.Expects(s.BootstrapExpect)
	if err != nil {
		return err
	}
	if before != 0 && before != s.BootstrapExpect {
		n.Log.Error("bootstrap-expect is not what this node was started with before; all nodes must be given the same number",
			"before", before, "now", s.BootstrapExpect, "promised_to", n.Folder.Promised())
	}
	cfg := n.peerPort(s)
	t, err := transport.Listen(cfg)
	if err != nil {
		return inWords(err, "peer-port", s.PeerPort)
	}
	defer func() { _ = t.Close() }()
	b := membership.NewBootstrap(membership.BootstrapConfig{
		Request: membership.JoinRequest{Node: joining(n.Member, s), Replace: s.Replace},
		Expect:  s.BootstrapExpect, Join: s.Join, Caller: t, Promises: n.Folder, Log: n.Log,
		LookupHost: net.DefaultResolver.LookupHost,
	})
	t.Handle(membership.KindKnock, func(_ transport.Peer, payload []byte, reply func([]byte)) { b.Serve(payload, reply) })
	t.Serve()
	n.supervisor.tellReady("looks for its cluster")
	w, err := b.Run(ctx)
	switch {
	case err != nil:
		return err
	case w == nil:
		if err = n.secrets.Ensure(identity.Founding); err == nil {
			err = errors.Join(n.Folder.FoundPromised(creation(s)), sawKnownVersion(n.Member))
		}
	default:
		err = n.recordJoined(w)
	}
	n.Self = n.Folder.Identity()
	return err
}

// peerPort is the configuration of this node's end of all peer connections.
func (n *Node) peerPort(s *config.Settings) transport.Config {
	var private transport.Secure
	if s.SecuresPeers() {
		private = n.tls
	}
	return transport.Config{
		Secure: private, Ring: n.secrets,
		Listen: listenAddresses(s.Bind, s.PeerPort), Advertise: s.PeerAddress, NodeID: string(n.Self.ID()),
		ClusterID: func() string { return n.Folder.Identity().ClusterID },
		Outcast:   n.Outcast, OpenKinds: []uint8{membership.KindKnock}, Panics: n.panics.Peers, Log: n.Log,
	}
}

// recordJoined records the answer of the cluster that this node has joined.
func (n *Node) recordJoined(w *membership.Welcome) error {
	// The secret comes first: a member cannot work without it.
	if err := n.secrets.KeepJoined(w.Secret); err != nil {
		return err
	}
	if err := errors.Join(n.Folder.Joined(w.ClusterID, w.Creation), n.Folder.SawVersion(w.Version)); err != nil {
		return err
	}
	n.Self = n.Folder.Identity()
	n.Log.Info("taken in", "cluster", w.ClusterID)
	return nil
}

// Retire stops a node that was removed from its cluster, except the port for health checks, which
// then reports that the node is alive but not ready. It is for nodes under a supervisor that
// restarts a process when it exits: a removed node that is restarted may join again, so exiting
// would undo the removal.
func (n *Node) Retire(ctx context.Context) error {
	n.Draining.Store(true)
	n.Ready.Store(false)
	admin := n.admin
	n.admin = nil
	n.abort()
	if admin == nil {
		return errors.New("there is no admin-port to stay up for")
	}
	n.supervisor.tell("STATUS=removed from its cluster, and not serving")
	n.Log.Warn("this node was removed from its cluster and stays up without serving, until it is told to stop; started again, it joins as a new node")
	<-ctx.Done()
	closing, cancel := context.WithTimeout(context.Background(), adminport.Patience)
	defer cancel()
	admin.Close(closing)
	return nil
}
