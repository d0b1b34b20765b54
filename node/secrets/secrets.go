// Package secrets holds the secrets with which a node and its peers authenticate to each other, and
// changes the secret of a whole cluster.
//
// The origin of a secret is decided once, at the start (see the table in docs/security.md). A list
// that is put into force later must share a secret with the list that was in force before, because
// otherwise the node would not understand its peers. If the operator chose no secret, the cluster
// has one of its own in the data folder. A joining node is given that one only if strangers may do
// everything at the client port anyway.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta/identity"
	"lockstep/cluster/secret"
	"lockstep/cluster/transport"
	"lockstep/node/config"
	"lockstep/node/status"
	"lockstep/proto/acl"
)

// origin is where a node has its cluster's secret from. The first one that exists counts, in this
// order.
type origin string

const (
	// fromSetting and fromFile mean that the operator has given the secret.
	fromSetting origin = "cluster-secret"
	fromFile    origin = "cluster-secret-file"
	// fromFolder means that the secret is in the data folder, since the node founded or joined its
	// cluster.
	fromFolder origin = "the data folder"
	// fromPassword means that the secret was derived from requirepass, and is not in the data
	// folder yet, because the node has no cluster yet.
	fromPassword origin = "requirepass"
	// fromNowhere means that there is no secret yet. The node makes one if it founds a cluster, or
	// receives that of the cluster that it joins.
	fromNowhere origin = ""
)

const (
	// rereadEvery is how often cluster-secret-file is read.
	rereadEvery = 2 * time.Second
	// forgetAfter is how long connections stay open that were authenticated with a secret which is
	// no longer accepted: the order to drop the secret may have come over one of them.
	forgetAfter = time.Second
)

// Facts are what the secrets need from their node.
type Facts struct {
	Config *config.Config
	Log    *slog.Logger
	// Identity is the node's identity by its data folder, or nil if it has none yet.
	Identity func() *identity.Identity
	// Go runs a function in a goroutine that ends with Ctx.
	Go  func(do func()) bool
	Ctx context.Context
}

// Secrets are the secrets that this node's peers must prove to know; see the table in
// docs/security.md. It is the transport's Ring.
type Secrets struct {
	Facts
	path string
	// known are the accepted secrets, the current one first.
	known atomic.Pointer[secret.List]
	// port is the peer port, at which connections of old secrets are closed.
	port atomic.Pointer[transport.Transport]
	// users returns the cluster's users. It is nil while they are not known.
	users atomic.Pointer[func() *acl.Users]

	// mu is held while the secrets are changed. It guards source, problem.
	mu     sync.Mutex
	source origin
	// problem is why the file could not be used last time, or empty.
	problem string
}

// errReachable refuses to start a node that other machines can reach and that has no secret.
var errReachable = errors.New("other machines can reach this node's peer port, and it has no secret that its peers would have to know: " +
	"give all nodes of the cluster the same cluster-secret (or cluster-secret-file, or requirepass), listen on this machine alone (bind 127.0.0.1), " +
	"or let in every node that connects (protected-mode no)")

// find returns the secrets that the settings give a node. It derives none from a password yet.
func find(s *config.Settings) (secret.List, origin, error) {
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

// Check returns the error with which a node with these settings would refuse to start because of
// its secrets.
func Check(s *config.Settings) error {
	_, _, err := find(s)
	return err
}

// reachable reports whether other machines can reach a port that listens on bind.
func reachable(s *config.Settings) bool {
	return slices.ContainsFunc(s.Bind, func(addr string) bool {
		host := strings.TrimPrefix(addr, "-")
		return host != "localhost" && !net.ParseIP(host).IsLoopback()
	})
}

// Open finds the secrets. It runs before the node creates anything.
func Open(f Facts) (*Secrets, error) {
	s := f.Config.Current()
	list, source, err := find(s)
	if err != nil {
		return nil, err
	}
	if source == fromPassword {
		list = secret.List{secret.FromPassword(s.RequirePass)}
	}
	sc := &Secrets{Facts: f, path: filepath.Join(s.Dir, identity.SecretFile), source: source}
	sc.known.Store(&list)
	f.Config.OnChange("cluster-secret", func(s *config.Settings) {
		if list, err := secret.Parse(s.ClusterSecret); err == nil {
			sc.mu.Lock()
			defer sc.mu.Unlock()
			sc.adopt(list)
		}
	})
	if source == fromFile {
		f.Go(sc.watch)
	}
	return sc, nil
}

// UsePort names the peer port, at which connections of old secrets are to be closed.
func (sc *Secrets) UsePort(t *transport.Transport) { sc.port.Store(t) }

// UseUsers sets the function that returns the cluster's users.
func (sc *Secrets) UseUsers(users func() *acl.Users) { sc.users.Store(&users) }

// Say logs where the secret is from, and warns if it keeps no stranger out.
func (sc *Secrets) Say() {
	sc.mu.Lock()
	source := sc.source
	sc.mu.Unlock()
	sc.Log.Info("peers have to prove that they know the cluster's secret", "from", string(source))
	if s := sc.Config.Current(); sc.openToAll(s) {
		sc.Log.Warn("any host that reaches this node's peer port may join its cluster: protected-mode is off, and there is neither a password nor a cluster-secret", "port", s.PeerPort)
	}
}

// openToAll reports whether strangers from other machines would be let in.
func (sc *Secrets) openToAll(s *config.Settings) bool {
	return !s.ProtectedMode && reachable(s) && sc.handsOn()
}

// Ensure makes sure that a node in this phase has a secret. The folder must be locked. If the node
// founds a cluster, Ensure must be called before the folder records that, so that no cluster is
// without a secret.
func (sc *Secrets) Ensure(phase identity.Phase) error {
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
			"copy the file %s out of another node's folder, or give all nodes the same cluster-secret", sc.Config.Current().Dir, identity.SecretFile)
	}
	return nil
}

// KeepJoined keeps the secret of the cluster that this node has joined: the one that the node has
// proved, or the one that it received.
func (sc *Secrets) KeepJoined(handed string) error {
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

// keep writes secrets into the data folder and puts them into force. sc.mu must be held.
func (sc *Secrets) keep(list secret.List) error {
	if err := secret.WriteFile(sc.path, list); err != nil {
		return fmt.Errorf("the cluster's secret cannot be kept in the data folder: %w", err)
	}
	sc.source = fromFolder
	sc.adopt(list)
	return nil
}

// adopt puts secrets into force. sc.mu must be held.
func (sc *Secrets) adopt(list secret.List) {
	if before := *sc.known.Load(); len(before) > 0 && !before.Equal(list) {
		sc.Log.Info("the cluster's secrets have changed", "from", string(sc.source), "accepted", len(list))
	}
	sc.known.Store(&list)
	sc.Go(func() {
		t := time.NewTimer(forgetAfter)
		defer t.Stop()
		select {
		case <-t.C:
		case <-sc.Ctx.Done():
			return
		}
		if port := sc.port.Load(); port != nil {
			port.Forget()
		}
	})
}

// watch reads cluster-secret-file until the node stops.
func (sc *Secrets) watch() {
	t := time.NewTicker(rereadEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			sc.reread()
		case <-sc.Ctx.Done():
			return
		}
	}
}

// reread reads cluster-secret-file. An unusable file changes nothing and is logged once.
func (sc *Secrets) reread() {
	list, err := secret.ReadFile(sc.Config.Current().ClusterSecretFile)
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if err == nil {
		err = sc.mayFollow(list)
	}
	if err != nil {
		if sc.problem != err.Error() {
			sc.Log.Error("cluster-secret-file cannot be used as it is now; the secrets from before stay in force", "reason", err)
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

// mayFollow refuses secrets with which this node would not understand its peers.
func (sc *Secrets) mayFollow(list secret.List) error {
	if !list.Shares(*sc.known.Load()) {
		return errNoneInForce
	}
	return nil
}

// CheckSet checks a CONFIG SET of cluster-secret.
func (sc *Secrets) CheckSet(s *config.Settings, pairs []config.Pair) error {
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
func (sc *Secrets) Known() secret.List { return *sc.known.Load() }

// Admits implements transport.Ring.
func (sc *Secrets) Admits(from net.Addr) bool {
	return sc.handsOn() && (!sc.Config.Current().ProtectedMode || isLocal(from))
}

// handsOn reports whether the secret protects nothing that strangers do not have anyway: the
// operator has not chosen it, and a client may do everything at the client port without a password.
// Under protected-mode such clients are on this machine, so the ports must not be reachable from
// others.
func (sc *Secrets) handsOn() bool {
	s := sc.Config.Current()
	sc.mu.Lock()
	source := sc.source
	sc.mu.Unlock()
	switch {
	case source != fromFolder && source != fromNowhere:
		return false
	case s.ProtectedMode && reachable(s):
		return false
	case s.Port == 0 && !s.SecuresPeers():
		return false // Clients must present certificates, and peers would not have to.
	}
	if users := sc.users.Load(); users != nil {
		d := (*users)().Default()
		return d.On() && d.NoPass() && d.MayAll()
	}
	// A cluster that is not founded yet starts with the users of the settings.
	id := sc.Identity()
	return (id == nil || id.Phase != identity.Settled) && s.RequirePass == "" && s.ACLFile == "" && len(s.Users) == 0
}

// NoPassword reports whether the default user needs no password, as far as this node knows.
func (sc *Secrets) NoPassword() bool {
	if users := sc.users.Load(); users != nil {
		return (*users)().Default().NoPass()
	}
	return sc.Config.Current().RequirePass == ""
}

// ToHand is the secret for a node that joins without one, or empty if it must not be handed out.
func (sc *Secrets) ToHand() string {
	if !sc.handsOn() {
		return ""
	}
	return sc.Known().Text()
}

func isLocal(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Tell describes the secret for the doctor.
func (sc *Secrets) Tell() status.Secret {
	s := sc.Config.Current()
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
