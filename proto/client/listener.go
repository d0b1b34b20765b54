package client

// listener is what a client gets outside the order of its requests: messages of its subscriptions, other clients'
// commands (MONITOR), and invalidations.
type listener struct {
	env    *environment
	out    *output
	pushes *pushes
	// pushed is set once messages may come at any time. They are then held while a batch is answered.
	pushed bool
	// monitoring is true if the client sees other clients' commands (MONITOR).
	monitoring bool
}

// listen prepares the client for pushes. They wait until the current batch is
// answered.
func (l *listener) listen() {
	l.pushed = true
	l.pushes.hold()
}

// hold makes pushes wait while a batch is answered.
func (l *listener) hold() {
	if l.pushed {
		l.pushes.hold()
	}
}

// release writes the pushes that wait, and lets further ones through.
func (l *listener) release() {
	if l.pushed {
		l.pushes.release()
	}
}

// monitor begins MONITOR.
func (l *listener) monitor() {
	l.listen()
	l.monitoring = true
	l.env.registry.monitors.add(l.pushes)
}

// unmonitor ends MONITOR.
func (l *listener) unmonitor() {
	if l.monitoring {
		l.monitoring = false
		l.env.registry.monitors.remove(l.pushes)
	}
}
