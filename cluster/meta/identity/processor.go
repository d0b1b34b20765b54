package identity

import (
	"math"
	"runtime"
)

// Processor is the kind of processor that this machine has. Go's math.Exp adds and
// multiplies at once where an amd64 can (FMA), and some of its results have another last
// digit then: scripts calculate by it, on every replica. So an amd64 that cannot, or whose
// virtual machine hides that it can, is another kind.
func Processor() string {
	if runtime.GOARCH == "amd64" && math.Float64bits(math.Exp(expArgument)) == expPlain {
		return "amd64 without FMA"
	}
	return runtime.GOARCH
}

// expArgument is a number whose power is another one without FMA: expPlain.
const (
	expArgument = 23.0 / 701
	expPlain    = 0x3ff0889eb095f120
)
