// Package sched is a shard's lock table: lock slots, the tickets that wait for them, and the
// permits that cap how many commands run at once.
//
// The table has a row per lock slot and one more, the global row. A ticket enters the queues of all
// its rows at one instant, under one mutex:
//
//	keyed work:   the global row shared, then each of its slots shared or exclusive
//	global work:  the global row exclusively
//	scan-like:    no row, only a permit
//
// A place is granted if no other place is before it in the row's queue and its mode fits the
// present holders of the row. Queues are first come, first served: a waiting writer holds back
// later readers, and a waiting global ticket holds back all later keyed ones. When all its places
// are granted a ticket asks for a permit, and with the permit it runs:
//
//	enqueue(t):  for each row of t: queue empty and mode fits? hold it : append to its queue
//	             all held? ask for a permit
//	release(t):  for each row of t: release it; grant from the head of the queue while modes fit
//	             give the permit to the first ticket that waits for one
//
// Invariants:
//   - Two tickets that share a row, not both shared, run in the order in which they were taken. Tickets
//     that share no row may overlap.
//   - There is no deadlock. A ticket is behind another one only in queues that each of them entered at
//     one instant, so "waits for" follows the order of those instants. And a ticket with a permit never
//     waits for a row.
//   - One goroutine takes the tickets of the log, in log order, in the same table as those of readers.
//     So log order is lock order.
//
// Cheap tasks of the log that are granted at once run on the goroutine that submits them, many
// under one claim (SubmitAll). Passing each to a worker would cost several times its work. Tasks
// that are heavy, or that must wait, go to workers, so the submitting goroutine never waits.
//
// A mutex per slot, locked in slot order, would be free of deadlocks as well. But then the order of
// two writers on one slot would be the order in which goroutines happen to arrive, and not that of
// the log.
package sched
