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

// setAside makes room for a new node in the folder of one that was removed, if
// the settings allow it.
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

// muster looks for a cluster, or for enough nodes to found one, where this node
// has an empty folder and was told how many to expect. It leaves a node that has
// been taken in, or one that is to found its cluster.
//
// It has a peer port of its own that knows no more than how to look around, so
// that nobody meets a node that is half open.
func (n *Node) muster(ctx context.Context) error {
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
	m := membership.NewMuster(membership.MusterConfig{
		Request: membership.JoinRequest{Node: joining(n.Member, s), Replace: s.Replace},
		Expect:  s.BootstrapExpect, Join: s.Join, Caller: t, Book: n.Folder, Log: n.Log,
		LookupHost: net.DefaultResolver.LookupHost,
	})
	t.Handle(membership.KindKnock, func(_ transport.Peer, payload []byte, reply func([]byte)) { m.Serve(payload, reply) })
	t.Serve()
	n.supervisor.tellReady("looks for its cluster")
	w, err := m.Run(ctx)
	switch {
	case err != nil:
		return err
	case w == nil:
		if err = n.secrets.Settle(identity.Founding); err == nil {
			err = errors.Join(n.Folder.FoundPromised(creation(s)), sawKnownVersion(n.Member))
		}
	default:
		err = n.takenIn(w)
	}
	n.Self = n.Folder.Identity()
	return err
}

// peerPort is how this node's end of all peer connections is made.
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

// takenIn notes what the cluster has said that took this node in.
func (n *Node) takenIn(w *membership.Welcome) error {
	// The secret first: a member without it would be none.
	if err := n.secrets.Taken(w.Secret); err != nil {
		return err
	}
	if err := errors.Join(n.Folder.Joined(w.ClusterID, w.Creation), n.Folder.SawVersion(w.Version)); err != nil {
		return err
	}
	n.Self = n.Folder.Identity()
	n.Log.Info("taken in", "cluster", w.ClusterID)
	return nil
}

// Retire ends a node that was removed from its cluster, all but the port for
// health checks, which says that the node lives and is not ready. Where a
// supervisor starts anew what ends, and a removed node may join again when it is
// started, ending would undo the removal.
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
