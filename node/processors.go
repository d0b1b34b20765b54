package node

import (
	"os"
	"runtime"
)

// SpareProcessor lets one goroutine more run than the machine has cores, for the
// whole process; it is called once, at the start.
//
// A goroutine that syncs the log waits in the kernel and keeps its processor
// until the runtime notices, and one that runs a long command gives its processor
// up after 10 ms at the soonest. On two cores either is half of all. With one
// processor to spare the others go on, and the kernel shares the cores, in far
// smaller pieces.
//
// It is not done where somebody has chosen the number (GOMAXPROCS), nor where the
// cores are rationed: there one more would use the ration up sooner, and all would
// stand still until the next.
func SpareProcessor() {
	cores := runtime.NumCPU()
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == cores {
		runtime.GOMAXPROCS(cores + 1)
	}
}
