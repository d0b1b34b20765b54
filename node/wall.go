package node

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// clockFile is empty in every program that people run. Tests link a program with another value: the name of a file in
// the data folder that says how this node's wall clock goes wrong, as they cannot set the machine's clock.
var clockFile string

// Wall reads the wall clock.
func (c *clocks) Wall() time.Time {
	now := time.Now()
	if clockFile == "" {
		return now
	}
	text, err := os.ReadFile(filepath.Join(c.Config.Current().Dir, clockFile))
	if err != nil {
		return now // it is right as long as there is no file
	}
	return wrongTime(now, string(text))
}

// wrongTime is what a clock shows of which the text says three numbers: how many microseconds it was ahead, at which
// Unix time in microseconds that was, and by how many parts of a million it runs too fast since.
func wrongTime(now time.Time, text string) time.Time {
	var aheadUs, sinceUs, ppm int64
	if _, err := fmt.Sscan(text, &aheadUs, &sinceUs, &ppm); err != nil {
		return now
	}
	return now.Add(time.Duration(aheadUs+(now.UnixMicro()-sinceUs)*ppm/1_000_000) * time.Microsecond)
}
