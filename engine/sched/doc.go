// Package sched is a shard's lock table: lock slots, the tickets that wait for
// them, and the permits that cap how many commands run at once.
//
// The table has a row per lock slot and one more, the global row. A ticket
// takes its place in the queues of all its rows at one instant, under one
// mutex:
//
//	keyed work:   the global row shared, then each of its slots shared or exclusive
//	global work:  the global row exclusively
//	scan-like:    no row; a permit alone
//
// A place is granted when nobody stands before it in the row's queue and its
// mode fits those that hold the row. Queues are first come, first served: a
// waiting writer holds back later readers, a waiting global ticket holds back
// all later keyed ones. When all its places are granted a ticket asks for a
// permit, and with that it runs:
//
//	enqueue(t):  for each row of t: queue empty and mode fits? hold it : append to its queue
//	             all held? ask for a permit
//	release(t):  for each row of t: let go; grant from the head of the queue while modes fit
//	             give the permit to the first ticket that waits for one
//
// Invariants:
//   - Two tickets that share a row, not both shared, run in the order in which
//     they were taken; those that share none may overlap.
//   - There is no deadlock: every ticket is behind another only in queues that
//     both entered at one instant each, so "waits for" follows the order of
//     instants; and a ticket with a permit never waits for a row.
//   - Tickets of the log are taken by one goroutine, in log order, and by the
//     same table as those of readers: log order is lock order.
//
// Cheap tasks of the log that are granted at once run on the goroutine that
// submits them, many under one claim (SubmitAll): handing each to a worker
// would cost several times what it does. What is heavy, or must wait, goes to
// workers, so the submitting goroutine never waits.
//
// A mutex per slot, taken in slot order, would be deadlock-free as well; but
// the order of two writers on one slot would be the order in which goroutines
// happen to arrive, and no longer the log's.
package sched
