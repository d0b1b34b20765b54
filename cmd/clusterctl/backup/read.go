package backup

import (
	"bytes"
	"fmt"
	"io"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
	"lockstep/fsm"
)

// Visitor has functions that are called for the contents of an RDB file. A nil function
// skips its part.
type Visitor struct {
	Key func(db int, e *engine.Entry) error
	// Library is a library of functions, Script a script of the script cache.
	Library, Script func(source []byte) error
}

// ReadFile reads an RDB file of any known version, from Lockstep or Redis, up to its
// end. The checksum has been compared when it returns without an error.
func ReadFile(in io.Reader, v Visitor) error {
	r, err := rdb.NewReader(in)
	if err != nil {
		return err
	}
	for {
		e, err := r.Next()
		switch {
		case err != nil:
			return err
		case e.EOF:
			return nil
		case e.Function != nil:
			err = tell(v.Library, e.Function)
		case e.Aux != nil:
			err = v.aux(string(e.Aux), e.Value)
		default:
			err = v.key(r, &e)
		}
		if err != nil {
			return err
		}
	}
}

func tell(f func([]byte) error, text []byte) error {
	if f == nil {
		return nil
	}
	return f(bytes.Clone(text))
}

func (v *Visitor) aux(name string, value []byte) error {
	switch {
	case name == fsm.AuxLibrary:
		return tell(v.Library, value)
	case name == fsm.AuxScript && len(value) > 0:
		return tell(v.Script, value[1:])
	}
	return nil
}

func (v *Visitor) key(r *rdb.Reader, e *rdb.Event) error {
	if e.DB >= engine.Databases {
		return fmt.Errorf("key %.40q is in database %d; there are %d", e.Key, e.DB, engine.Databases)
	}
	db, at := e.DB, e.ExpireAtMs
	entry, err := command.ReadValue(&r.Source, e.Type, e.Key, nil)
	if err != nil {
		return fmt.Errorf("key %.60q of database %d: %w", e.Key, db, err)
	}
	entry.ExpireAtMs = at
	if v.Key == nil {
		return nil
	}
	return v.Key(db, entry)
}
