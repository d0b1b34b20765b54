package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/secret"
	"lockstep/cluster/transport"
	"lockstep/node/config"
	"lockstep/node/status"
)

// secretSource is where a node has its cluster's secret from. The first that there
// is counts, in this order.
type secretSource string

const (
	// fromSetting and fromFile: it was told.
	fromSetting secretSource = "cluster-secret"
	fromFile    secretSource = "cluster-secret-file"
	// fromFolder: it lies in the data folder, since the node founded its cluster or
	// was taken in.
	fromFolder secretSource = "the data folder"
	// fromPassword: it was derived from requirepass, and is not in the data folder
	// yet: a cluster has to take the node in first.
	fromPassword secretSource = "requirepass"
	// fromNowhere: there is none yet. The node makes one if it founds a cluster, or is
	// handed that of the cluster that takes it in.
	fromNowhere secretSource = ""
)

const (
	// secretEvery is how often cluster-secret-file is read.
	secretEvery = 2 * time.Second
	// forgetAfter is how long connections that were proved by a secret which is not
	// accepted any more live on: the order to drop it may have come over one of them.
	forgetAfter = time.Second
)

// secrets are the secrets that this node's peers have to prove; see the table in
// docs/security.md. It is the transport's Ring.
type secrets struct {
	n    *Node
	path string
	// known are those that are accepted, the current one first.
	known atomic.Pointer[secret.List]
	// port is where connections are to be closed that an old secret opened.
	port atomic.Pointer[transport.Transport]
	// users are the cluster's; nil: they are not known yet.
	users atomic.Pointer[users]

	// mu is held while the secrets are changed.
	mu     sync.Mutex
	source secretSource
	// problem is why the file could not be used last; empty: it could.
	problem string
}

// errReachable refuses a start.
var errReachable = errors.New("other machines can reach this node's peer port, and it has no secret that its peers would have to know: " +
	"give all nodes of the cluster the same cluster-secret (or cluster-secret-file, or requirepass), listen on this machine alone (bind 127.0.0.1), " +
	"or let in whoever comes (protected-mode no)")

// findSecrets finds out which secrets the settings give a node. Of a password none
// is derived yet.
func findSecrets(s *config.Settings) (secret.List, secretSource, error) {
	if s.ClusterSecret != "" {
		list, err := secret.Parse(s.ClusterSecret)
		return list, fromSetting, err
	}
	if s.ClusterSecretFile != "" {
		list, err := secret.ReadFile(s.ClusterSecretFile)
		if err != nil {
			err = fmt.Errorf("cluster-secret-file: %w", err)
		}
		return list, fromFile, err
	}
	list, err := secret.ReadFile(filepath.Join(s.Dir, identity.SecretFile))
	switch {
	case err == nil:
		return list, fromFolder, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fromFolder, fmt.Errorf("the cluster's secret in the data folder cannot be used: %w", err)
	case s.RequirePass != "":
		return nil, fromPassword, nil
	case s.ProtectedMode && reachable(s):
		return nil, fromNowhere, errReachable
	}
	return nil, fromNowhere, nil
}

// CheckSecrets tells whether a node would start with the secrets that settings
// give it.
func CheckSecrets(s *config.Settings) error {
	_, _, err := findSecrets(s)
	return err
}

// reachable tells whether other machines can reach what listens on bind.
func reachable(s *config.Settings) bool {
	return slices.ContainsFunc(s.Bind, func(addr string) bool {
		host := strings.TrimPrefix(addr, "-")
		return host != "localhost" && !net.ParseIP(host).IsLoopback()
	})
}

// openSecrets finds the secrets, before anything is made.
func (n *Node) openSecrets(context.Context) error {
	s := n.cfg.Current()
	list, source, err := findSecrets(s)
	if err != nil {
		return err
	}
	if source == fromPassword {
		list = secret.List{secret.FromPassword(s.RequirePass)}
	}
	sc := &secrets{n: n, path: filepath.Join(s.Dir, identity.SecretFile), source: source}
	sc.known.Store(&list)
	n.secrets = sc
	n.cfg.OnChange("cluster-secret", func(s *config.Settings) {
		if list, err := secret.Parse(s.ClusterSecret); err == nil {
			sc.mu.Lock()
			defer sc.mu.Unlock()
			sc.adopt(list)
		}
	})
	if source == fromFile {
		n.background.run(sc.watch)
	}
	return nil
}

// say tells the log where the secret is from, and warns where it keeps nobody out.
func (sc *secrets) say() {
	sc.mu.Lock()
	source := sc.source
	sc.mu.Unlock()
	sc.n.log.Info("peers have to prove that they know the cluster's secret", "from", string(source))
	if s := sc.n.cfg.Current(); sc.openToAll(s) {
		sc.n.log.Warn("whoever reaches this node's peer port may join its cluster: protected-mode is off, and there is neither a password nor a cluster-secret", "port", s.PeerPort)
	}
}

// openToAll tells whether strangers from other machines would be let in.
func (sc *secrets) openToAll(s *config.Settings) bool {
	return !s.ProtectedMode && reachable(s) && sc.handsOn()
}

// settle sees to the secret of a node that is in this phase. The folder must be
// locked. Where a cluster is founded it must be called before that is noted, so
// that no cluster is without a secret.
func (sc *secrets) settle(phase identity.Phase) error {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	switch {
	case phase == identity.Joining:
		return nil
	case sc.source == fromPassword:
		return sc.keep(*sc.known.Load())
	case sc.source == fromNowhere && phase == identity.Founding:
		return sc.keep(secret.List{secret.Make()})
	case sc.source == fromNowhere:
		return fmt.Errorf("the data folder %s has a node of a cluster, and not the cluster's secret: "+
			"copy the file %s out of another node's folder, or give all nodes the same cluster-secret", sc.n.cfg.Current().Dir, identity.SecretFile)
	}
	return nil
}

// taken keeps the secret of the cluster that has taken this node in: the one that
// it has proved, or that it was handed.
func (sc *secrets) taken(handed string) error {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	switch sc.source {
	case fromPassword:
		return sc.keep(*sc.known.Load())
	case fromNowhere:
		list, err := secret.Parse(handed)
		if err == nil && len(list) == 0 {
			err = errors.New("there was none")
		}
		if err != nil {
			return fmt.Errorf("the cluster did not hand on its secret: %w", err)
		}
		return sc.keep(list)
	}
	return nil
}

// keep puts secrets into the data folder and into force. sc.mu must be held.
func (sc *secrets) keep(list secret.List) error {
	if err := secret.WriteFile(sc.path, list); err != nil {
		return fmt.Errorf("the cluster's secret cannot be kept in the data folder: %w", err)
	}
	sc.source = fromFolder
	sc.adopt(list)
	return nil
}

// adopt puts secrets into force. sc.mu must be held.
func (sc *secrets) adopt(list secret.List) {
	if before := *sc.known.Load(); len(before) > 0 && !before.Equal(list) {
		sc.n.log.Info("the cluster's secrets have changed", "from", string(sc.source), "accepted", len(list))
	}
	sc.known.Store(&list)
	sc.n.background.run(func() {
		t := time.NewTimer(forgetAfter)
		defer t.Stop()
		select {
		case <-t.C:
		case <-sc.n.ctx.Done():
			return
		}
		if port := sc.port.Load(); port != nil {
			port.Forget()
		}
	})
}

// watch reads cluster-secret-file until the node stops.
func (sc *secrets) watch() {
	t := time.NewTicker(secretEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			sc.reread()
		case <-sc.n.ctx.Done():
			return
		}
	}
}

// reread reads cluster-secret-file. What cannot be used changes nothing and is
// logged once.
func (sc *secrets) reread() {
	list, err := secret.ReadFile(sc.n.cfg.Current().ClusterSecretFile)
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if err == nil {
		err = sc.mayFollow(list)
	}
	if err != nil {
		if sc.problem != err.Error() {
			sc.n.log.Error("cluster-secret-file cannot be used as it is now; the secrets from before stay in force", "reason", err)
		}
		sc.problem = err.Error()
		return
	}
	sc.problem = ""
	if !list.Equal(*sc.known.Load()) {
		sc.adopt(list)
	}
}

var errNoneInForce = errors.New("none of the secrets is in force: first give all nodes the next one and behind it the one that is in force, and when all have both, the next one alone")

// mayFollow refuses secrets by which this node would not understand its peers.
func (sc *secrets) mayFollow(list secret.List) error {
	if !list.Shares(*sc.known.Load()) {
		return errNoneInForce
	}
	return nil
}

// check judges a CONFIG SET.
func (sc *secrets) check(s *config.Settings, pairs []config.Pair) error {
	if !slices.ContainsFunc(pairs, func(p config.Pair) bool { return strings.EqualFold(p.Name, "cluster-secret") }) {
		return nil
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	switch sc.source {
	case fromSetting:
		list, err := secret.Parse(s.ClusterSecret)
		return errors.Join(err, sc.mayFollow(list))
	case fromFile:
		return errors.New("this node has its secret from cluster-secret-file: change what is in that file, which is read again within seconds")
	}
	return errors.New("this node has its secret in its data folder: clusterctl secret rotate changes it, on all nodes")
}

// Known implements transport.Ring.
func (sc *secrets) Known() secret.List { return *sc.known.Load() }

// Admits implements transport.Ring.
func (sc *secrets) Admits(from net.Addr) bool {
	return sc.handsOn() && (!sc.n.cfg.Current().ProtectedMode || isLocal(from))
}

// handsOn tells whether the secret is no more than what strangers have anyway:
// nobody has chosen it, and whoever reaches the port for clients may do everything
// there without a password. Under protected-mode, those are on this machine, and
// the ports must be, too.
func (sc *secrets) handsOn() bool {
	s := sc.n.cfg.Current()
	sc.mu.Lock()
	source := sc.source
	sc.mu.Unlock()
	switch {
	case source != fromFolder && source != fromNowhere:
		return false
	case s.ProtectedMode && reachable(s):
		return false
	case s.Port == 0 && !s.SecuresPeers():
		return false // Clients have to show certificates, and peers would not.
	}
	if u := sc.users.Load(); u != nil {
		d := u.Users().Default()
		return d.On() && d.NoPass() && d.MayAll()
	}
	// A cluster that is not founded yet begins with the users of the settings.
	id := sc.n.Folder.Identity()
	return (id == nil || id.Phase != identity.Settled) && s.RequirePass == "" && s.ACLFile == "" && len(s.Users) == 0
}

// noPassword tells whether the default user needs none, as far as that is known.
func (sc *secrets) noPassword() bool {
	if u := sc.users.Load(); u != nil {
		return u.Users().Default().NoPass()
	}
	return sc.n.cfg.Current().RequirePass == ""
}

// toHand is the secret for a node that is taken in without one; empty: it is not
// handed on.
func (sc *secrets) toHand() string {
	if !sc.handsOn() {
		return ""
	}
	return sc.Known().Text()
}

// visitor is who knocks at the peer port.
func visitor(from transport.Peer) membership.Visitor {
	v := membership.Visitor{Unproved: from.Unproved}
	if !from.Stranger {
		v.Member = meta.NodeID(from.NodeID)
	}
	return v
}

func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// tell describes the secret for the doctor.
func (sc *secrets) tell() status.Secret {
	s := sc.n.cfg.Current()
	list := sc.Known()
	sc.mu.Lock()
	t := status.Secret{Source: string(sc.source), Accepted: len(list), Problem: sc.problem, Reachable: reachable(s)}
	sc.mu.Unlock()
	t.OpenToAll = sc.openToAll(s)
	if t.Source == string(fromFolder) && s.RequirePass != "" {
		t.OtherPassword = !list.Has(secret.FromPassword(s.RequirePass))
		t.ShortPassword = !t.OtherPassword && len(s.RequirePass) < secret.TextBytesMin
	}
	return t
}
