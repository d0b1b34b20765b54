package differential

import "time"

// shrinkPatience bounds the search for a shorter stream.
const shrinkPatience = 60 * time.Second

// shrink shortens the stream to commands that are needed for differs to return true: it leaves out
// smaller and smaller pieces.
func shrink(ops []op, differs func([]op) bool) []op {
	deadline := time.Now().Add(shrinkPatience)
	for size := len(ops) / 2; size >= 1; {
		removed := false
		for at := 0; at+size <= len(ops) && time.Now().Before(deadline); {
			shorter := make([]op, 0, len(ops)-size)
			shorter = append(append(shorter, ops[:at]...), ops[at+size:]...)
			if differs(shorter) {
				ops, removed = shorter, true
			} else {
				at += size
			}
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
	return ops
}
