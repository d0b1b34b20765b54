//go:build !linux

package process

import "runtime"

// Rest leaves the processor to other goroutines in the middle of a long command.
func Rest() { runtime.Gosched() }
