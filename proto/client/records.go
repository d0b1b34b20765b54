package client

import (
	"bytes"
	"time"

	"lockstep/engine/command"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

// records shows the commands that a client runs to monitoring clients, counts them, and puts the slow ones into the
// slow log.
type records struct{ env *environment }

// show shows a command to the monitoring clients when it runs.
func (r records) show(spec *command.Spec, args [][]byte, db int) {
	if all := r.env.registry.monitors.all.Load(); all != nil {
		r.showTo(*all, spec, args, db)
	}
}

func (r records) showTo(all []*pushes, spec *command.Spec, args [][]byte, db int) {
	if !hidden(spec) {
		showLine(all, monitorLine(time.Now(), db, r.env.conn.RemoteAddr().String(), spec, args))
	}
}

// showTransaction shows the commands of a transaction that ran, and EXEC.
func (r records) showTransaction(tx *transaction, ran bool) {
	all := r.env.registry.monitors.all.Load()
	if all == nil {
		return
	}
	db := tx.db
	if ran {
		for _, q := range tx.queue {
			db = selected(&q, db)
			r.showTo(*all, q.spec, q.args, db)
		}
	}
	r.showTo(*all, execSpec, [][]byte{tx.word[:]}, db)
}

// count counts a command that ran and wrote this reply. It reports whether the reply is an error.
func (r records) count(spec *command.Spec, took time.Duration, written []byte) (failed bool) {
	failed = len(written) > 0 && written[0] == '-'
	if failed {
		r.env.stats.CountError(written)
	}
	r.env.stats.Ran(spec, took, failed)
	return failed
}

// slow puts a command into the slow log if it took long enough.
func (r records) slow(spec *command.Spec, args [][]byte, took time.Duration) {
	s := r.env.settings
	if !stats.IsSlow(spec, took, s.SlowerThanUs, s.SlowlogLen) {
		return
	}
	r.env.shared.mu.Lock()
	name := r.env.shared.name
	r.env.shared.mu.Unlock()
	r.env.stats.Slowlog.Add(stats.SlowEntry{
		UnixSec: time.Now().Unix(), Usec: took.Microseconds(), Args: stats.SlowArgs(spec, args),
		Addr: r.env.conn.RemoteAddr().String(), Name: name,
	}, s.SlowlogLen)
}

// countQueued counts the data commands of a transaction whose EXEC was answered, and their errors. It puts the slow
// ones into the slow log. Each command counts with its share of the time. Nothing is counted for a transaction that
// did not run.
func (r records) countQueued(tx *transaction, took time.Duration, answer []byte) {
	if len(answer) == 0 || answer[0] != '*' || bytes.HasPrefix(answer, []byte("*-1")) {
		return
	}
	replies := answer[bytes.IndexByte(answer, '\n')+1:]
	share := took / time.Duration(max(1, len(tx.queue)))
	for _, q := range tx.queue {
		if q.here() || q.denied != "" {
			continue
		}
		n := resp.Skip(replies)
		failed := replies[0] == '-'
		if failed && !q.spec.RunsProgram() {
			r.env.stats.CountError(replies)
		}
		r.env.stats.Ran(q.spec, share, failed)
		r.slow(q.spec, q.args, share)
		replies = replies[n:]
	}
}
