package node

import (
	"context"
	"errors"
	"sync/atomic"

	"lockstep/ground/background"
	"lockstep/node/ops"
)

// lifetime holds how long a node lives and why it ends. The node's background work starts here.
type lifetime struct {
	fatal chan error
	// giveUp aborts a start that is under way.
	giveUp context.CancelCauseFunc
	// dying is the reason why the node cannot go on, nil while it can.
	dying atomic.Pointer[error]
	// gone ends when the node has learnt that it was removed from its cluster.
	gone   context.Context
	depart context.CancelFunc
	ctx    context.Context
	stop   context.CancelFunc
	// background holds the goroutines that run until ctx ends.
	background background.Group
}

func newLifetime() *lifetime {
	l := &lifetime{fatal: make(chan error, 1)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.gone, l.depart = context.WithCancel(context.Background())
	return l
}

// Fatal delivers the reason when the node cannot go on, for example a damaged log or a failing
// disk. The process must end then.
func (l *lifetime) Fatal() <-chan error { return l.fatal }

func (l *lifetime) die(err error) {
	l.dying.Store(&err)
	if l.giveUp != nil {
		l.giveUp(err)
	}
	select {
	case l.fatal <- err:
	default:
	}
}

// dyingOf returns why the process must end because of its disk or its data. It leaves out an
// ordered shutdown and a removal from the cluster: they are no reason for a supervisor to restart
// the process.
func (l *lifetime) dyingOf() error {
	if err := l.dying.Load(); err != nil && !errors.Is(*err, ops.ErrShutdown) && !errors.Is(*err, ErrRemoved) {
		return *err
	}
	return nil
}
