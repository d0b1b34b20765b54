package identity

import (
	"math"
	"runtime"
)

// Processor is the kind of processor of this machine. On an amd64 that can, Go's math.Exp adds and
// multiplies in one step (FMA), and some results then differ in the last digit. Scripts use it, on
// every replica. So an amd64 without FMA, or in a virtual machine that hides it, is another kind.
func Processor() string {
	if runtime.GOARCH == "amd64" && math.Float64bits(math.Exp(expArgument)) == expPlain {
		return "amd64 without FMA"
	}
	return runtime.GOARCH
}

// expArgument is a number whose power without FMA is expPlain, and differs with FMA.
const (
	expArgument = 23.0 / 701
	expPlain    = 0x3ff0889eb095f120
)
