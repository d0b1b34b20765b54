package cluster

// Flight is calls on their way to a leader, for a caller that does not wait; see
// router.Router.Start. It may be used again when they have landed.
type Flight struct {
	// Landed is called once for each flight when there is an answer, from any
	// goroutine, and must not block. alone: nobody else waits for that goroutine.
	Landed func(alone bool)
	// Way is the router's.
	Way any
}

// Started tells what became of calls that were to be started.
type Started uint8

const (
	// StartedNone: whoever may wait must run them. Those that are answered are done.
	StartedNone Started = iota
	// StartedDone: they are answered.
	StartedDone
	// StartedFlight: they are on their way; Landed will be called.
	StartedFlight
)
