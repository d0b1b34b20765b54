package lan

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Start starts a program on this leg. Its root, user and everything else come from the command.
func (g *Leg) Start(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(home)
	there, err := unix.Open("/run/netns/"+g.Namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(there)
	if err := unix.Setns(there, unix.CLONE_NEWNET); err != nil {
		return err
	}
	started := cmd.Start()
	if err := unix.Setns(home, unix.CLONE_NEWNET); err != nil {
		// This thread must not run anything else, so the test binary cannot go on.
		panic(fmt.Sprintf("no way back into the machine's network: %v", err))
	}
	return started
}
