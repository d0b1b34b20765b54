package transport

// learnedMax bounds how many nodes have a remembered address; a cluster has far fewer.
const learnedMax = 1024

// LearnAddress records the address at which a node was met. From then on a dial by the node's id (Target)
// goes to that address instead of the given one, until a dial there fails. The addresses in a Raft
// log may be old: they may have changed while no node was up to record it. A wrong address does no
// harm, because a dial by id reaches that node or fails.
func (t *Transport) LearnAddress(id, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.learned[id]; known || len(t.learned) < learnedMax {
		t.learned[id] = addr
	}
}

// addressOf returns the address to dial for a node.
func (t *Transport) addressOf(id, addr string) string {
	if id == "" {
		return addr
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if learned, ok := t.learned[id]; ok {
		return learned
	}
	return addr
}

// forgetAddress forgets the address at which a node was met, because the node is not there now.
func (t *Transport) forgetAddress(id, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.learned[id] == addr {
		delete(t.learned, id)
	}
}
