package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clockFile is the name of the file by which a test says how a node's wall clock goes wrong (node/wall.go).
const clockFile = "clock-of-the-test"

// clockValue links a program whose nodes look for the file.
const clockValue = "lockstep/node.clockFile=" + clockFile

// ClockedLockstepd is a lockstepd whose wall clock SetClock sets; values are for the linker, too.
func ClockedLockstepd(t testing.TB, values ...string) string {
	t.Helper()
	return OtherLockstepd(t, append([]string{clockValue}, values...)...)
}

// SetClock sets the wall clock of a node: it is so much ahead now, and runs too fast by so many parts of a million.
func (n *Node) SetClock(ahead time.Duration, ppm int64) error {
	text := fmt.Sprintln(ahead.Microseconds(), time.Now().UnixMicro(), ppm)
	path := filepath.Join(n.DataDir(), clockFile)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// RightClock puts the wall clock of a node right.
func (n *Node) RightClock() error {
	err := os.Remove(filepath.Join(n.DataDir(), clockFile))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
