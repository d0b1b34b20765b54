package raftio

import "golang.org/x/sys/unix"

// bootClock also runs while the machine is suspended. CLOCK_MONOTONIC would not.
const bootClock = unix.CLOCK_BOOTTIME
