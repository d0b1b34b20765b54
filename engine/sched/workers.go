package sched

import "sync"

// workers are goroutines for tasks that do not run where they are submitted: heavy ones, and those
// that had to wait. Workers start when they are needed, up to a limit, and then wait for more
// tasks. The queue is bounded, because the entries admitted to the log are.
type workers struct {
	s     *Scheduler
	max   int
	queue []*Task
	count int
	// idle is the number of workers that wait and have not been woken. Two tasks pushed at one
	// moment must not count on the same worker.
	idle int
	// coming is set if a worker is about to look at the queue: it will take the next task that is
	// pushed.
	coming bool
	// running are the tasks that workers run now.
	running []*Task
	closed  bool
	wake    sync.Cond
	wait    sync.WaitGroup
}

func (w *workers) init(s *Scheduler, max int) {
	w.s, w.max = s, max
	w.wake.L = &s.mu
}

// push queues a task for a worker. The caller holds the scheduler's mutex.
func (w *workers) push(k *Task) {
	w.queue = append(w.queue, k)
	w.s.count.onWorkers++
	if w.coming {
		w.coming = false
		return
	}
	if w.idle > 0 {
		w.idle--
		w.wake.Signal()
		return
	}
	if w.count < w.max {
		w.count++
		w.wait.Go(w.work)
	}
}

func (w *workers) work() {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(w.queue) == 0 {
			if w.closed {
				return
			}
			w.idle++
			w.wake.Wait()
		}
		k := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		w.started(k)
		s.mu.Unlock()
		k.Work.Run()
		s.mu.Lock()
		w.ended(k)
		// One of the tasks that waited for this one runs on this worker: waking another worker
		// would cost more than most tasks do.
		w.coming = true
		s.releaseLocked(&k.ticket)
		w.coming = false
		s.doneLocked(1)
	}
}

// started records that a task runs, and since when.
func (w *workers) started(k *Task) {
	k.ticket.beganNs = w.s.now()
	k.runsAt = len(w.running)
	w.running = append(w.running, k)
}

// ended removes a task from the running ones. The last of them takes its index.
func (w *workers) ended(k *Task) {
	last := len(w.running) - 1
	moved := w.running[last]
	w.running[k.runsAt], moved.runsAt = moved, k.runsAt
	w.running[last] = nil
	w.running = w.running[:last]
}

func (w *workers) close() {
	w.s.mu.Lock()
	w.closed = true
	w.wake.Broadcast()
	w.s.mu.Unlock()
	w.wait.Wait()
}
