package raftio

import "golang.org/x/sys/unix"

// bootClock runs in suspend, too (clock_gettime(3)).
const bootClock = unix.CLOCK_MONOTONIC
