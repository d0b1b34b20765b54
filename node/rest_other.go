//go:build !linux

package node

import "runtime"

// rest leaves the processor to others in the middle of a long command.
func rest() { runtime.Gosched() }
