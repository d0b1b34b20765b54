package node

import (
	"context"
	"errors"
	"sync/atomic"

	"lockstep/ground/background"
	"lockstep/node/ops"
)

// lifetime is how long a node lives, and why it ends. What the node does beside answering calls is begun here.
type lifetime struct {
	fatal chan error
	// giveUp ends a start that is under way.
	giveUp context.CancelCauseFunc
	// dying is why the node cannot go on, nil while it can.
	dying atomic.Pointer[error]
	// gone ends when the node has learnt that it was removed from its cluster.
	gone   context.Context
	depart context.CancelFunc
	ctx    context.Context
	stop   context.CancelFunc
	// background is what goes on until ctx ends.
	background background.Group
}

func newLifetime() *lifetime {
	l := &lifetime{fatal: make(chan error, 1)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.gone, l.depart = context.WithCancel(context.Background())
	return l
}

// Fatal delivers the reason when the node cannot go on: a damaged log, a disk
// that fails. The process must end.
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

// dyingOf is why the process must end for the sake of its disk or its data. That it was told to end, or that
// its cluster has removed it, is no reason to start it again.
func (l *lifetime) dyingOf() error {
	if err := l.dying.Load(); err != nil && !errors.Is(*err, ops.ErrShutdown) && !errors.Is(*err, ErrRemoved) {
		return *err
	}
	return nil
}
