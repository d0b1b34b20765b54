package fsm

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"lockstep/engine"
	"lockstep/engine/rdb"
	"lockstep/engine/sched"
)

// Auxiliary fields of a snapshot file. Redis ignores fields it does not know.
const (
	// auxHeader comes first: see header.
	auxHeader = "lockstep-header"
	// auxSlot begins a lock slot: its number, then its deletions.
	auxSlot = "lockstep-slot"
	// auxVersions holds the versions of the keys that follow, as uvarints.
	auxVersions = "lockstep-versions"
)

// versionsPerField is how many keys one auxVersions field speaks for.
const versionsPerField = 512

// Snapshot is the machine's state between two entries, to be written out while
// later ones run. See engine.Cut for how.
type Snapshot struct {
	m      *Machine
	st     *state
	cut    *engine.Cut
	header header
}

// Snapshot fixes the state after the last applied entry. It returns at once.
func (m *Machine) Snapshot() (*Snapshot, error) {
	st := m.state.Load()
	s := &Snapshot{m: m, st: st}
	s.header = header{
		index: m.progress.queuedIndex(), txnNo: m.txnNo.Load(), stampMs: m.stampMs.Load(),
		engine: st.ks.Config(), settings: *st.settings,
		origins: st.dup.images(),
	}
	s.cut = st.ks.OpenCut(s.header.txnNo)
	return s, nil
}

// Release gives the snapshot up.
func (s *Snapshot) Release() { s.cut.Close() }

// Index is the index of the last entry in the snapshot.
func (s *Snapshot) Index() uint64 { return s.header.index }

// Persist writes the snapshot as an RDB file.
func (s *Snapshot) Persist(w io.Writer) error {
	// The replies in the duplicate table are complete once every txn before the
	// cut has run.
	if err := s.m.progress.wait(context.Background(), s.header.index); err != nil {
		return err
	}
	// Swaps before the cut have run once a slot is captured.
	if err := s.capture(0); err != nil {
		return err
	}
	s.header.swapped = s.cut.SwappedAt()
	out := rdb.NewWriter(w)
	out.Aux(auxHeader, s.header.append(nil))
	for slot := range int32(s.st.ks.LockSlots()) {
		if err := s.capture(slot); err != nil {
			return err
		}
		if err := s.writeSlot(out, slot); err != nil {
			return err
		}
		s.cut.Release(slot)
	}
	return out.Close()
}

// capture makes sure that a lock slot is captured. Its ticket is younger than
// the cut, so every txn before the cut has left the slot.
func (s *Snapshot) capture(slot int32) error {
	var ticket sched.Ticket
	access := sched.Access{Slots: []sched.SlotMode{{Slot: slot, Mode: sched.Shared}}}
	if err := s.st.sched.Lock(context.Background(), &ticket, &access); err != nil {
		return err
	}
	s.cut.Capture(slot)
	s.st.sched.Unlock(&ticket)
	return nil
}

func (s *Snapshot) writeSlot(out *rdb.Writer, slot int32) error {
	if s.cut.Deletions(slot) {
		out.Aux(auxSlot, s.cut.AppendDeletions(binary.AppendUvarint(nil, uint64(slot)), slot))
	}
	for db := range engine.Databases {
		if s.cut.Count(slot, db) == 0 {
			continue
		}
		out.SelectDB(db)
		c := chunk{out: out}
		if err := s.cut.Each(slot, db, c.add); err != nil {
			return err
		}
		if err := c.flush(); err != nil {
			return err
		}
	}
	return nil
}

// chunk gathers entries so that their versions can stand before them.
type chunk struct {
	out     *rdb.Writer
	entries []*engine.Entry
	buf     []byte
}

func (c *chunk) add(e *engine.Entry) error {
	c.entries = append(c.entries, e)
	if len(c.entries) == versionsPerField {
		return c.flush()
	}
	return nil
}

func (c *chunk) flush() error {
	if len(c.entries) == 0 {
		return nil
	}
	c.buf = c.buf[:0]
	for _, e := range c.entries {
		c.buf = binary.AppendUvarint(c.buf, e.Version<<1|uint64(rawBit(e)))
	}
	c.out.Aux(auxVersions, c.buf)
	for _, e := range c.entries {
		c.buf = rdb.AppendText(c.buf[:0], e.Text())
		c.out.Key(e.KeyBytes(), e.ExpireAtMs, rdb.TypeString, c.buf)
	}
	c.entries = c.entries[:0]
	return nil
}

// rawBit is what OBJECT ENCODING tells of a string's past.
func rawBit(e *engine.Entry) int {
	if e.Raw() {
		return 1
	}
	return 0
}

// Restore replaces the state by a snapshot's. Calls that wait for entries the
// snapshot covers are not answered here: their outcome is in the duplicate
// table.
func (m *Machine) Restore(r io.Reader) error {
	old := m.state.Load()
	old.sched.Drain()
	l := loader{m: m}
	if err := l.load(r); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	h := &l.header
	m.stampMs.Store(h.stampMs)
	m.txnNo.Store(h.txnNo)
	m.settings.Store(l.st.settings)
	m.state.Store(l.st)
	m.progress.reset(h.index)
	old.sched.Close()
	return nil
}

// loader reads a snapshot into a new state.
type loader struct {
	m        *Machine
	header   header
	st       *state
	versions []byte
}

func (l *loader) load(r io.Reader) error {
	in, err := rdb.NewReader(r)
	if err != nil {
		return err
	}
	for {
		e, err := in.Next()
		switch {
		case err != nil:
			return err
		case e.EOF && l.st == nil:
			return fmt.Errorf("%w: no header", ErrCorrupt)
		case e.EOF:
			return nil
		case e.Aux != nil:
			err = l.aux(string(e.Aux), e.Value)
		default:
			err = l.key(&e)
		}
		if err != nil {
			return err
		}
	}
}

func (l *loader) aux(name string, value []byte) error {
	switch name {
	case auxHeader:
		h, err := decodeHeader(value)
		if err != nil {
			return err
		}
		l.header = h
		settings := h.settings
		l.st = l.m.newState(h.engine, &settings)
		l.st.ks.RestoreSwappedAt(h.swapped)
		l.st.dup = dupTableOf(h.origins)
	case auxSlot:
		slot, n := binary.Uvarint(value)
		if l.st == nil || n <= 0 || !l.st.ks.RestoreDeletions(int32(slot), value[n:]) {
			return fmt.Errorf("%w: lock slot", ErrCorrupt)
		}
	case auxVersions:
		l.versions = value
	}
	return nil
}

func (l *loader) key(e *rdb.Event) error {
	version, n := binary.Uvarint(l.versions)
	if n <= 0 || l.st == nil || e.DB >= engine.Databases {
		return fmt.Errorf("%w: a key without a version", ErrCorrupt)
	}
	l.versions = l.versions[n:]
	entry := engine.NewString(e.Key, e.Text)
	if version&1 != 0 {
		entry.SetRaw()
	}
	entry.ExpireAtMs = e.ExpireAtMs
	l.st.ks.Put(l.st.ks.LockSlotOf(entry), e.DB, entry, version>>1)
	return nil
}
