package fsm

import (
	"context"
	"io"

	"lockstep/engine"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
)

// DayMs is the time of day at the snapshot, in Unix milliseconds. Keys that expire
// at this time or earlier count as gone, whether they have been deleted or not.
func (s *Snapshot) DayMs() int64 { return s.header.stampMs + s.header.dayOffsetMs }

// PersistKeys writes the snapshot's keys as an RDB file that any redis-server
// opens. The file lacks the data that only a replica of the shard needs (versions,
// the duplicate table, the log position). With programs set, it also holds the
// function libraries, and the loaded scripts in auxiliary fields. told is called
// after each database of a lock slot with the number of keys written. An error of w
// ends the writing.
func (s *Snapshot) PersistKeys(w io.Writer, programs bool, told func(keys int)) error {
	if err := s.m.progress.wait(context.Background(), s.header.index); err != nil {
		return err
	}
	out := rdb.NewWriter(w)
	out.Offset(s.header.dayOffsetMs)
	if programs {
		s.writePrograms(out, false)
	}
	for slot := range int32(s.st.ks.LockSlots()) {
		if err := s.capture(slot); err != nil {
			return err
		}
		for db := range engine.Databases {
			n := s.cut.Count(slot, db)
			if n == 0 {
				continue
			}
			out.SelectDB(db)
			err := s.cut.Each(slot, db, func(e *engine.Entry) error {
				values.WriteEntry(out, e)
				return out.Err()
			})
			if err != nil {
				return err
			}
			told(n)
		}
		s.cut.Release(slot)
	}
	return out.Close()
}

// Keys is about the number of keys there are now. It is exact while nothing
// changes.
func (s *Snapshot) Keys() int64 {
	sum := 0
	for db := range engine.Databases {
		sum += s.st.ks.Keys(db)
	}
	return int64(sum)
}

// writePrograms writes scripts and function libraries. Scripts that came into the
// script cache only by EVAL are written only with evaluated set.
func (s *Snapshot) writePrograms(out *rdb.Writer, evaluated bool) {
	for _, c := range s.scripts {
		loaded := byte(0)
		if c.Loaded {
			loaded = 1
		}
		if c.Loaded || evaluated {
			out.Aux(AuxScript, append([]byte{loaded}, c.Source...))
		}
	}
	for _, l := range s.functions.Libraries() {
		if l.IsRedis() {
			out.Function(l.Source)
		} else {
			out.Aux(AuxLibrary, l.Source)
		}
	}
}
