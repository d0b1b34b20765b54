package transport

// metMax bounds the nodes whose whereabouts are remembered; a cluster has far
// fewer.
const metMax = 1024

// Met notes where a node was met. Who dials the node by its id (Target) is led
// there from now on, whatever address it has been given for it, until a dial
// there fails: addresses that stand in a Raft log may have changed while nobody
// was up to note it. A wrong hint does no harm, for a dial by id ends at that
// node or not at all.
func (t *Transport) Met(id, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.met[id]; known || len(t.met) < metMax {
		t.met[id] = addr
	}
}

// whereabouts is the address to dial for a node.
func (t *Transport) whereabouts(id, addr string) string {
	if id == "" {
		return addr
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if met, ok := t.met[id]; ok {
		return met
	}
	return addr
}

// missed forgets that a node was met at an address: it is not there now.
func (t *Transport) missed(id, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.met[id] == addr {
		delete(t.met, id)
	}
}
