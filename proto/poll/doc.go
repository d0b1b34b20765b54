// Package poll waits for many connections on one goroutine.
//
// A goroutine for each connection is simple, but costs much if requests come one at a
// time. Each request wakes a goroutine, which reads it, finds nothing more to read, and
// sleeps again. With several processors each such wake-up also wakes a thread, which
// comes too late and sleeps again. A Loop takes all connections that have input at
// once, and calls the Guest of each in turn. A guest that would have to wait leaves the
// loop and goes on in a goroutine of its own, with the same connection, which remains a
// net.Conn all the time. When it has nothing to do it comes back.
//
//   - One goroutine at a time calls the guests of a loop: the loop's own or, while that
//     sleeps, one that borrows the loop (Conn.Call). Except by Called, guests are called
//     only while they are in the loop (from Enter to Leave).
//   - A connection in the loop is called again after each event, whatever it was: no
//     input is overlooked, and neither is its end.
//   - A file descriptor is closed once, while it is not in use.
//   - A guest must not wait when the loop calls it. Only the loop itself waits.
package poll

import "errors"

// ErrNothing says that there is nothing to read, or no room to write, now.
var ErrNothing = errors.New("poll: not now")

// Guest is called for a connection in a loop; see Conn.Enter.
type Guest interface {
	// Ready is called when there may be something to read, which TryRead finds out.
	// It is also called when the connection is closed, and once after Enter.
	Ready()
	// Called is called after Conn.Call.
	Called()
	// Tick is called every TickEvery or so while Conn.Clock has asked for it.
	Tick()
	// Flush is called after Conn.Later, even if the connection has left the loop
	// meanwhile, so that the held output is sent.
	Flush()
}
