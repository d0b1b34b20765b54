package raftio

import "golang.org/x/sys/unix"

// bootClock also runs while the machine is suspended (clock_gettime(3)).
const bootClock = unix.CLOCK_MONOTONIC
