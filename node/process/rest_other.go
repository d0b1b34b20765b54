//go:build !linux

package process

import "runtime"

// Rest leaves the processor to others in the middle of a long command.
func Rest() { runtime.Gosched() }
