package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clockFile is the name of the file in which a test says how a node's wall clock is wrong
// (node/wall.go).
const clockFile = "clock-of-the-test"

// clockValue links a program whose nodes read the file.
const clockValue = "lockstep/node.clockFile=" + clockFile

// ClockedLockstepd is a lockstepd whose wall clock SetClock can set. The values are for the linker.
func ClockedLockstepd(t testing.TB, values ...string) string {
	t.Helper()
	return OtherLockstepd(t, append([]string{clockValue}, values...)...)
}

// SetClock sets the wall clock of a node ahead by a time from now on, and makes it run too fast by
// ppm parts per million.
func (n *Node) SetClock(ahead time.Duration, ppm int64) error {
	text := fmt.Sprintln(ahead.Microseconds(), time.Now().UnixMicro(), ppm)
	path := filepath.Join(n.DataDir(), clockFile)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// RightClock corrects the wall clock of a node.
func (n *Node) RightClock() error {
	err := os.Remove(filepath.Join(n.DataDir(), clockFile))
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
