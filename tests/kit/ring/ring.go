// Package ring makes cluster secrets for tests that open a peer port themselves.
package ring

import (
	"net"
	"strings"
	"sync/atomic"

	"lockstep/cluster/secret"
)

// Ring is a transport.Ring whose secrets a test can change.
type Ring struct {
	known  atomic.Pointer[secret.List]
	admits atomic.Bool
}

// New makes a ring of secrets, given by their texts, the current one first.
func New(texts ...string) *Ring {
	r := &Ring{}
	r.Set(texts...)
	return r
}

// Shared makes a ring with one secret, which is the same at each call.
func Shared() *Ring { return New("what-all-nodes-of-a-test-know") }

// Set changes the secrets.
func (r *Ring) Set(texts ...string) {
	list, err := secret.Parse(strings.Join(texts, " "))
	if err != nil {
		panic(err)
	}
	r.known.Store(&list)
}

// Admit sets whether nodes without a proof may knock.
func (r *Ring) Admit(yes bool) { r.admits.Store(yes) }

// Known implements transport.Ring.
func (r *Ring) Known() secret.List { return *r.known.Load() }

// Admits implements transport.Ring.
func (r *Ring) Admits(net.Addr) bool { return r.admits.Load() }
