package raftio

import "golang.org/x/sys/unix"

// bootClock runs in suspend, too; CLOCK_MONOTONIC stands still.
const bootClock = unix.CLOCK_BOOTTIME
