// Package caught keeps a panic that belongs to one connection from ending the process: the code
// that serves a connection may panic over bytes from a client or another node. That connection
// ends, the log gets the stack, and a counter grows. Commands that were on their way to a shard end
// with an unknown outcome.
//
// Code that applies the log does not use this package: if a command panics while an entry is
// applied, it gets an error reply on every replica (package fsm).
//
// The process may continue after a panic only if no shared state is left half changed. So code that
// serves connections releases its locks and returns what it has taken by defer, or does nothing in
// between that can panic.
package caught

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"lockstep/ground/ratelog"
)

// Panics catches and counts the panics of one port's connections. A nil *Panics also works: it logs
// to slog's default.
type Panics struct {
	log     *slog.Logger
	count   atomic.Uint64
	limited ratelog.Log
}

// New returns a Panics that logs to log.
func New(log *slog.Logger) *Panics { return &Panics{log: log} }

var unowned = New(nil)

// Count is the number of panics caught so far.
func (p *Panics) Count() uint64 { return p.orUnowned().count.Load() }

func (p *Panics) orUnowned() *Panics {
	if p == nil {
		return unowned
	}
	return p
}

// Catch, deferred by a goroutine, recovers the goroutine's panic and then calls end. serving says
// what the goroutine was doing. Without a panic it does nothing.
func (p *Panics) Catch(serving string, end func()) {
	if v := recover(); v != nil {
		p.Note(serving, v)
		end()
	}
}

// Note counts and logs a panic that its caller has just recovered.
func (p *Panics) Note(serving string, v any) {
	p = p.orUnowned()
	p.count.Add(1)
	log := p.log
	if log == nil {
		log = slog.Default()
	}
	stack := debug.Stack()
	if c, ok := v.(*carried); ok {
		stack = c.stack
	}
	p.limited.Error(log, "a panic ended what it served; please report this", "serving", serving, "panic", fmt.Sprint(v), "stack", string(stack))
}

// carried is a panic that continues in another goroutine, with its original stack.
type carried struct {
	value any
	stack []byte
}

// String returns the text of the panic.
func (c *carried) String() string { return fmt.Sprint(c.value) }

// Carry wraps a recovered panic so that it keeps its stack when another goroutine panics with it.
func Carry(v any) any {
	if _, ok := v.(*carried); ok {
		return v
	}
	return &carried{v, debug.Stack()}
}

// Group is a sync.WaitGroup for goroutines that work for one connection. The first panic among them
// becomes a panic of the goroutine that waits.
type Group struct {
	wait  sync.WaitGroup
	first atomic.Pointer[carried]
}

// Go runs f in a goroutine.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				g.first.CompareAndSwap(nil, Carry(v).(*carried))
			}
		}()
		f()
	})
}

// Wait waits until all goroutines have ended, and panics if one of them has panicked.
func (g *Group) Wait() {
	g.wait.Wait()
	if c := g.first.Load(); c != nil {
		panic(c)
	}
}
