package sched

import "slices"

// Mode is how a lock slot is locked.
type Mode uint8

const (
	// Shared lets other shared holders of the slot run at the same time.
	Shared Mode = iota
	// Exclusive lets no other ticket run in the slot.
	Exclusive
)

// SlotMode is one lock slot and the mode in which it is locked.
type SlotMode struct {
	Slot int32
	Mode Mode
}

// Access is the set of locks that a task needs. The zero value locks nothing: the task then needs
// only a permit (scan-like work).
type Access struct {
	// Global locks the whole table exclusively. Slots is then ignored.
	Global bool
	// Slots is sorted by slot. Each slot is in it once, with the stronger mode. Add keeps it so.
	Slots []SlotMode
}

// Reset empties the access and keeps its memory.
func (a *Access) Reset() {
	a.Global = false
	a.Slots = a.Slots[:0]
}

// Add merges one slot into the access.
func (a *Access) Add(slot int32, mode Mode) {
	i, found := slices.BinarySearchFunc(a.Slots, slot, func(s SlotMode, t int32) int { return int(s.Slot - t) })
	if found {
		a.Slots[i].Mode = max(a.Slots[i].Mode, mode)
		return
	}
	a.Slots = slices.Insert(a.Slots, i, SlotMode{slot, mode})
}

// Raise makes every slot of the access exclusive (EXEC locks the union
// of its keys exclusively even when it only reads).
func (a *Access) Raise() {
	for i := range a.Slots {
		a.Slots[i].Mode = Exclusive
	}
}
