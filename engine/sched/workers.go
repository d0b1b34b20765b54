package sched

import "sync"

// workers are goroutines for tasks that were handed over: heavy ones, and those
// that had to wait. They are started when needed, up to a limit, and then wait
// for more. The queue is bounded by what was admitted to the log.
type workers struct {
	s     *Scheduler
	max   int
	queue []*Task
	count int
	// idle are the workers that wait and have not been woken: two tasks handed over
	// at one moment must not count on the same one.
	idle int
	// coming is a worker that is about to look at the queue: the next task pushed
	// is that one's.
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

// push hands a task over; the scheduler's mutex is held.
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
		w.begin(k)
		s.mu.Unlock()
		k.Work.Run()
		s.mu.Lock()
		w.end(k)
		// Of those who waited for this task one goes on here: to wake another worker
		// for it would cost more than most tasks do.
		w.coming = true
		s.releaseLocked(&k.ticket)
		w.coming = false
		s.doneLocked(1)
	}
}

// begin notes that a task runs, and since when.
func (w *workers) begin(k *Task) {
	k.ticket.beganNs = w.s.now()
	k.runsAt = len(w.running)
	w.running = append(w.running, k)
}

// end takes a task off those that run; the last of them takes its place.
func (w *workers) end(k *Task) {
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
