package linear

import (
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	// earlySlack and lateSlack are how much earlier or later than its time to live says a key may
	// expire. Entries are stamped with milliseconds of a leader's clock, which follows the wall
	// clock term by term, and a clock that is ahead falls back slowly.
	earlySlack = 250 * time.Millisecond
	lateSlack  = 2 * time.Second
)

// recent holds recently written keys, so that one client reads keys that another wrote.
type recent struct {
	mu   sync.Mutex
	keys [32]string
	n    int
}

// wrote records a key.
func (b *recent) wrote(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys[b.n%len(b.keys)] = key
	b.n++
}

// one is a recently written key, or "" if there is none.
func (b *recent) one(random int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		return ""
	}
	return b.keys[random%min(b.n, len(b.keys))]
}

// checkBriefs checks keys that were written once, with a time to live of Arg milliseconds. They
// must exist from the reply to the write until about the end of that time, and must not come back
// after they have gone. With evicts they may go earlier.
func checkBriefs(history []Op, write, read string, evicts bool) (keys, reads int, wrong error) {
	writes := map[string]*Op{}
	for i := range history {
		if o := &history[i]; o.Name == write {
			writes[o.Key] = o
		}
	}
	type seen struct {
		// there is the read with the latest start that found the key. gone is the read with the
		// earliest reply that did not find it, among those that began after the reply to the write.
		there, gone *Op
	}
	found := map[string]*seen{}
	for i := range history {
		o := &history[i]
		if o.Name != read || o.Outcome != Done {
			continue
		}
		w := writes[o.Key]
		if w == nil {
			continue // its write was not recorded: the client stopped during it
		}
		reads++
		if err := checkBrief(w, o, evicts); err != nil {
			return len(writes), reads, err
		}
		s := found[o.Key]
		if s == nil {
			s = &seen{}
			found[o.Key] = s
		}
		switch {
		case !o.Null && (s.there == nil || o.Call > s.there.Call):
			s.there = o
		case o.Null && w.Outcome == Done && o.Call > w.Return && (s.gone == nil || o.Return < s.gone.Return):
			s.gone = o
		}
		if s.there != nil && s.gone != nil && s.gone.Return < s.there.Call {
			return len(writes), reads, fmt.Errorf("%s came back: %+v, then %+v", o.Key, *s.gone, *s.there)
		}
	}
	return len(writes), reads, nil
}

// checkBrief checks one read of a key.
func checkBrief(w, read *Op, evicts bool) error {
	ms, err := strconv.ParseInt(w.Arg, 10, 64)
	if err != nil {
		return err
	}
	life := ms * int64(time.Millisecond)
	switch {
	case !read.Null && w.Outcome == Refused:
		return fmt.Errorf("%+v was refused, and seen: %+v", *w, *read)
	case w.Outcome != Done, evicts && read.Null:
		return nil
	case !read.Null && read.Call > w.Return+life+int64(lateSlack):
		return fmt.Errorf("%+v is still there: %+v", *w, *read)
	case read.Null && read.Call > w.Return && read.Return < w.Call+life-int64(earlySlack):
		return fmt.Errorf("%+v has gone too early: %+v", *w, *read)
	}
	return nil
}
