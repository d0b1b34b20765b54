package node

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// clockFile is empty in every released program. Tests link a program with another value: the name
// of a file in the data folder that says how this node's wall clock is wrong, because tests cannot
// set the machine's clock.
var clockFile string

// Wall reads the wall clock.
func (c *clocks) Wall() time.Time {
	now := time.Now()
	if clockFile == "" {
		return now
	}
	text, err := os.ReadFile(filepath.Join(c.Config.Current().Dir, clockFile))
	if err != nil {
		return now // without the file the clock is right
	}
	return wrongTime(now, string(text))
}

// wrongTime returns the time of a wrong clock. The text has three numbers: by how many microseconds
// the clock was ahead, at which Unix time in microseconds that was, and by how many parts per
// million it has run too fast since then.
func wrongTime(now time.Time, text string) time.Time {
	var aheadUs, sinceUs, ppm int64
	if _, err := fmt.Sscan(text, &aheadUs, &sinceUs, &ppm); err != nil {
		return now
	}
	return now.Add(time.Duration(aheadUs+(now.UnixMicro()-sinceUs)*ppm/1_000_000) * time.Microsecond)
}
