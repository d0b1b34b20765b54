package fsm

import "unsafe"

// dupLooksMax is how many records are measured; the others are assumed to have the same average
// size.
const dupLooksMax = 4096

const dupRecordBytes = int64(unsafe.Sizeof(dupRecord{}) + unsafe.Sizeof((*dupRecord)(nil)))

// KeptBytes is about how much memory the duplicate table takes. The table belongs to the applying
// goroutine, which measures it at the first entry after a call; so the result is that of the call
// before.
func (m *Machine) KeptBytes() int64 {
	m.keptAsked.Store(true)
	return m.keptBytes.Load()
}

// measureKept measures the table if KeptBytes was called. Only the applying
// goroutine calls it.
func (m *Machine) measureKept() {
	if m.keptAsked.Load() {
		m.keptAsked.Store(false)
		m.keptBytes.Store(m.state.Load().dup.memoryBytes())
	}
}

// memoryBytes is about how much memory the table takes.
func (d *dupTable) memoryBytes() int64 {
	held, looked, bytes := int64(0), int64(0), int64(0)
	for _, node := range d.sortedNodes() {
		o := d.origins[node]
		held += int64(o.held)
		look := func(r *dupRecord) {
			if r != nil && looked < dupLooksMax {
				looked++
				bytes += r.replyBytes()
			}
		}
		for _, l := range o.lanes {
			if l != nil && looked < dupLooksMax {
				for _, r := range l.records {
					look(r)
				}
			}
		}
		// order does not matter: any will do
		for _, l := range o.waits {
			if look(l.record); looked == dupLooksMax {
				break
			}
		}
	}
	return held*dupRecordBytes + int64(float64(bytes)*float64(held)/float64(max(looked, 1)))
}

func (r *dupRecord) replyBytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.reply))
}
