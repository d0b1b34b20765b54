package fsm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lockstep/engine"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
	"lockstep/engine/sched"
	"lockstep/engine/script"
)

// Auxiliary fields of a snapshot file. Redis ignores fields it does not know.
const (
	// auxHeader comes first: see header.
	auxHeader = "lockstep-header"
	// auxSlot begins a lock slot: its number, then its deletions.
	auxSlot = "lockstep-slot"
	// AuxScript is a script of the script cache: 1 if it was loaded, else 0, followed by its text.
	AuxScript = "lockstep-script"
	// AuxLibrary is a function library that Redis would not load, and for which it would refuse the
	// file.
	AuxLibrary = "lockstep-library"
	// auxVersions holds the versions of the keys that follow, as uvarints.
	auxVersions = "lockstep-versions"
)

// versionsPerField is how many keys one auxVersions field covers.
const versionsPerField = 512

// Snapshot is the machine's state between two entries. It is written out while
// later entries run (engine.Cut).
type Snapshot struct {
	m      *Machine
	st     *state
	cut    *engine.Cut
	header header
	// scripts never change, so they are shared.
	scripts   []script.Cached
	functions *script.FunctionsCut
	// captured is the first lock slot that this snapshot has not captured yet.
	captured int32
}

// ErrSnapshotOpen means that another snapshot is still being written.
var ErrSnapshotOpen = errors.New("a snapshot or a backup of this shard is being written")

// Snapshot fixes the state after the last applied entry and returns at once. It
// fails with ErrSnapshotOpen if another snapshot has not been released.
func (m *Machine) Snapshot() (*Snapshot, error) {
	st := m.state.Load()
	if st.ks.CutOpen() {
		return nil, ErrSnapshotOpen
	}
	s := &Snapshot{m: m, st: st}
	s.header = header{
		index: m.progress.queued.Load(), txnNo: m.txnNo.Load(), stampMs: m.stampMs.Load(), dayOffsetMs: m.DayOffsetMs(),
		engine: st.ks.Config(), settings: *st.settings,
		origins: st.dup.images(),
	}
	s.scripts = st.programs.Scripts.All()
	s.functions = st.programs.Functions.OpenCut(s.header.txnNo)
	s.cut = st.ks.OpenCut(s.header.txnNo)
	s.header.told = st.backlog.openCut(s.header.txnNo)
	return s, nil
}

// Release ends the snapshot.
func (s *Snapshot) Release() {
	s.functions.Close()
	s.st.backlog.closeCut()
	s.cut.Close()
}

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
	s.header.swapped, s.header.done = s.cut.SwappedAt(), s.st.backlog.cut()
	out := rdb.NewWriter(w)
	out.Aux(auxHeader, s.header.append(nil))
	s.writePrograms(out, true)
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

// captureTogether is how many lock slots are captured under one ticket. Where scripts that hold
// everything follow each other closely, each ticket waits for those before it.
const captureTogether = 256

// capture makes sure that a lock slot is captured, together with the slots behind it that share its
// ticket. The ticket is newer than the cut, so every txn before the cut has released the slots.
func (s *Snapshot) capture(slot int32) error {
	if slot < s.captured {
		return nil
	}
	ticket := sched.Ticket{Label: "snapshot"}
	end := min(slot+captureTogether, int32(s.st.ks.LockSlots()))
	access := sched.Access{Slots: make([]sched.SlotMode, 0, end-slot)}
	for i := slot; i < end; i++ {
		access.Slots = append(access.Slots, sched.SlotMode{Slot: i, Mode: sched.Shared})
	}
	if err := s.st.sched.Lock(context.Background(), &ticket, &access); err != nil {
		return err
	}
	for i := slot; i < end; i++ {
		s.cut.Capture(i)
	}
	s.st.sched.Unlock(&ticket)
	s.captured = end
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

// chunk collects entries so that their versions can be written before them.
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
		values.WriteEntry(c.out, e)
	}
	c.entries = c.entries[:0]
	return c.out.Err()
}

// rawBit says whether OBJECT ENCODING shows a string as raw because of its history.
func rawBit(e *engine.Entry) int {
	if e.Raw() {
		return 1
	}
	return 0
}

// Restore replaces the state by a snapshot's. Calls that wait for entries that the
// snapshot covers are not answered here: their outcome is in the duplicate table.
func (m *Machine) Restore(r io.Reader) error {
	old := m.state.Load()
	old.sched.Drain()
	l := loader{m: m}
	if err := l.load(r); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	h := &l.header
	m.stampMs.Store(h.stampMs)
	m.dayOffsetMs.Store(h.dayOffsetMs)
	m.txnNo.Store(h.txnNo)
	m.settings.Store(l.st.settings)
	m.state.Store(l.st)
	// This is a change like any other: it is reported when it is in the state and its index is
	// queued, and before that index counts as executed.
	m.progress.arrive(h.index)
	if t := m.cfg.Tracker; t != nil && t.Tracking() {
		t.Changed(TxnID{}, [][]byte{nil})
	}
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
	// libraries are the texts of the libraries of functions.
	libraries [][]byte
}

func (l *loader) load(r io.Reader) error {
	in, err := rdb.NewReader(r)
	if err != nil {
		return err
	}
	in.Trust()
	for {
		e, err := in.Next()
		switch {
		case err != nil:
			return err
		case e.EOF && l.st == nil:
			return fmt.Errorf("%w: no header", ErrCorrupt)
		case e.EOF:
			return l.functions()
		case e.Function != nil:
			l.libraries = append(l.libraries, bytes.Clone(e.Function))
		case e.Aux != nil:
			err = l.aux(string(e.Aux), e.Value)
		default:
			err = l.key(in, &e)
		}
		if err != nil {
			return err
		}
	}
}

func (l *loader) aux(name string, value []byte) error {
	switch name {
	case auxHeader:
		h, err := decodeHeader(bytes.Clone(value))
		if err != nil {
			return err
		}
		l.header = h
		settings := h.settings
		l.st = l.m.newState(h.engine, &settings)
		l.st.ks.RestoreSwappedAt(h.swapped)
		l.st.dup, l.st.backlog = dupTableOf(h.origins), restoredBacklog(h.done, h.told)
	case auxSlot:
		slot, n := binary.Uvarint(value)
		if l.st == nil || n <= 0 || slot >= uint64(l.st.ks.LockSlots()) || !l.st.ks.Slot(int32(slot)).RestoreDeletions(value[n:]) {
			return fmt.Errorf("%w: lock slot", ErrCorrupt)
		}
	case AuxScript:
		return l.script(value)
	case AuxLibrary:
		l.libraries = append(l.libraries, bytes.Clone(value))
	case auxVersions:
		l.versions = bytes.Clone(value)
	}
	return nil
}

// functions restores the libraries.
func (l *loader) functions() error {
	if err := l.st.programs.Functions.Adopt(l.libraries); err != nil {
		return fmt.Errorf("%w: a library of functions: %w", ErrCorrupt, err)
	}
	return nil
}

// script restores a script to the cache. It was within the limits when it was
// cached.
func (l *loader) script(value []byte) error {
	if l.st == nil || len(value) == 0 || value[0] > 1 {
		return fmt.Errorf("%w: script", ErrCorrupt)
	}
	s, err := script.Read(value[1:], &script.Limits{SourceBytes: len(value)})
	if err != nil {
		return fmt.Errorf("%w: script: %w", ErrCorrupt, err)
	}
	l.st.programs.Scripts.Restore(script.Cached{Script: s, Loaded: value[0] == 1})
	return nil
}

func (l *loader) key(in *rdb.Reader, e *rdb.Event) error {
	version, n := binary.Uvarint(l.versions)
	if n <= 0 || l.st == nil || e.DB >= engine.Databases {
		return fmt.Errorf("%w: a key without a version", ErrCorrupt)
	}
	l.versions = l.versions[n:]
	entry, err := values.ReadValue(&in.Source, e.Type, e.Key, nil)
	if err != nil {
		return err
	}
	if version&1 != 0 {
		entry.SetRaw()
	}
	entry.ExpireAtMs = e.ExpireAtMs
	l.st.ks.Put(l.st.ks.LockSlotOf(entry), e.DB, entry, version>>1)
	return nil
}
