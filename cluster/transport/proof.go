package transport

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"lockstep/cluster/secret"
)

// Ring holds the secrets that nodes use to prove that they belong to the cluster.
type Ring interface {
	// Known are the secrets that this node accepts, the current one first.
	Known() secret.List
	// Admits reports whether a node at an address may knock although it proves nothing. Such a node
	// may do no more than a node without a cluster.
	Admits(from net.Addr) bool
}

// proven is a connection on which a secret was proved.
type proven struct {
	net.Conn
	by *secret.Secret
	in *proofs
}

// Close implements net.Conn.
func (p *proven) Close() error {
	p.in.mu.Lock()
	delete(p.in.all, p)
	p.in.mu.Unlock()
	return p.Conn.Close()
}

// proofs are the connections on which a secret was proved.
type proofs struct {
	mu  sync.Mutex // guards all
	all map[*proven]struct{}
}

func (ps *proofs) add(conn net.Conn, by *secret.Secret) *proven {
	p := &proven{conn, by, ps}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.all == nil {
		ps.all = map[*proven]struct{}{}
	}
	ps.all[p] = struct{}{}
	return p
}

// Forget closes the connections that were proved by a secret that the ring no longer knows. Nodes
// that know another secret of the ring connect again.
func (t *Transport) Forget() {
	known := t.cfg.Ring.Known()
	var old []*proven
	t.proofs.mu.Lock()
	for p := range t.proofs.all {
		if !known.Has(p.by) {
			old = append(old, p)
		}
	}
	t.proofs.mu.Unlock()
	for _, p := range old {
		p.Close()
	}
}

// dialProof does the handshake of a connection that this node has made. If the handshake fails, it
// closes the connection.
func (t *Transport) dialProof(conn net.Conn, p *preface) (net.Conn, error) {
	done, err := t.prove(conn, func(binding []byte) (*secret.Conn, error) {
		return secret.Dial(conn, t.cfg.Ring.Known(), binding)
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	if done.Proved == nil {
		p.clusterID = "" // Only a connection with a proof is a member's.
		return done, nil
	}
	return t.noted(done)
}

// acceptProof does the handshake of an accepted connection. The returned connection replaces conn,
// even after an error.
func (t *Transport) acceptProof(conn net.Conn) (as net.Conn, proved bool, err error) {
	done, err := t.prove(conn, func(binding []byte) (*secret.Conn, error) {
		return secret.Accept(conn, t.cfg.Ring.Known(), t.cfg.Ring.Admits(conn.RemoteAddr()), binding)
	})
	if err != nil {
		return conn, false, err
	}
	as = done
	if done.Proved != nil {
		if as, err = t.noted(done); err != nil {
			return conn, false, err
		}
	}
	if !t.swap(conn, as) {
		return as, false, ErrClosed
	}
	return as, done.Proved != nil, nil
}

// prove does a handshake. It binds the proof to the TLS connection if conn is one.
func (t *Transport) prove(conn net.Conn, shake func(binding []byte) (*secret.Conn, error)) (*secret.Conn, error) {
	s, under := conn.(secured)
	if !under {
		return shake(nil)
	}
	state := s.ConnectionState()
	binding, err := state.ExportKeyingMaterial(secret.ExporterLabel, nil, secret.BindingBytes)
	if err != nil {
		return nil, fmt.Errorf("the TLS connection cannot be told from others: %w", err)
	}
	return shake(binding)
}

// noted records by which secret a connection was proved. It refuses the connection if the ring has
// forgotten that secret meanwhile.
func (t *Transport) noted(conn *secret.Conn) (net.Conn, error) {
	p := t.proofs.add(conn, conn.Proved)
	if !t.cfg.Ring.Known().Has(conn.Proved) {
		p.Close()
		return nil, errRetired
	}
	return p, nil
}

var errRetired = errors.New("the secret that was proved is not accepted any more")
