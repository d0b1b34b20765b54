package identity

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// TestProcessorWithoutFMA: an amd64 that cannot add and multiply in one step, for example in a
// virtual machine, is another kind of processor: scripts get other powers there. The test turns FMA
// off for Go in a process of its own.
func TestProcessorWithoutFMA(t *testing.T) {
	if os.Getenv("LOCKSTEP_TEST_PROCESSOR") != "" {
		_, _ = os.Stdout.WriteString(Processor())
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProcessorWithoutFMA$")
	cmd.Env = append(os.Environ(), "LOCKSTEP_TEST_PROCESSOR=1", "GODEBUG=cpu.fma=off")
	out, err := cmd.CombinedOutput()
	want := runtime.GOARCH
	if want == "amd64" {
		want = "amd64 without FMA"
	}
	if err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
}
