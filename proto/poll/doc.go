// Package poll waits for many connections on one goroutine.
//
// A goroutine for each connection is simple, and where requests come one at a time
// it is dear: each wakes a goroutine, which reads, finds nothing more to read, and
// sleeps; with several processors each waking wakes a thread as well, which comes
// too late and sleeps again. A Loop takes all connections that have something at
// once, and calls each one's Guest in turn. A guest that would have to wait leaves
// the loop and goes on by a goroutine of its own, with the same connection, which is
// a net.Conn all the while; when it has nothing to do it comes back.
//
// Invariants:
//   - The guests of a loop are called by one goroutine at a time: the loop's own, or,
//     while that sleeps, who borrows the loop (Conn.Call). But for Called they are
//     called only while they are in the loop (Enter until Leave).
//   - A connection in the loop is called again after whatever came last: no input
//     is overlooked, and neither is its end.
//   - A file descriptor is closed once, while nobody uses it.
//   - What the loop calls must not wait. Nothing here does but the loop itself.
package poll

import "errors"

// ErrNothing says that there is nothing to read, or no room to write, now.
var ErrNothing = errors.New("poll: not now")

// Guest is who is called for a connection in a loop; see Conn.Enter.
type Guest interface {
	// Ready is called when there may be something to read; what TryRead returns
	// tells. Also when the connection is closed, and once after Enter.
	Ready()
	// Called is called after Conn.Call.
	Called()
	// Tick is called every TickEvery or so while Conn.Clock has asked for it.
	Tick()
	// Flush is called after Conn.Later, even where the connection has left the loop
	// meanwhile: what was to be sent is to go out.
	Flush()
}
