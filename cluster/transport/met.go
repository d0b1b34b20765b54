package transport

// metMax bounds how many nodes have a remembered address; a cluster has far fewer.
const metMax = 1024

// Met records the address at which a node was met. From then on a dial by the node's id (Target)
// goes to that address instead of the given one, until a dial there fails. The addresses in a Raft
// log may be old: they may have changed while no node was up to record it. A wrong address does no
// harm, because a dial by id reaches that node or fails.
func (t *Transport) Met(id, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.met[id]; known || len(t.met) < metMax {
		t.met[id] = addr
	}
}

// whereabouts returns the address to dial for a node.
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

// missed forgets the address at which a node was met, because the node is not there now.
func (t *Transport) missed(id, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.met[id] == addr {
		delete(t.met, id)
	}
}
