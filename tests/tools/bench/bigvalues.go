package main

import (
	"errors"
	"fmt"
	"time"
)

// bigStep is an operation on a big value while other clients continue.
type bigStep struct {
	name string
	// last is true if the step leaves no value for a second round.
	last bool
	run  func(v *bigValue) error
}

// bigValue is a server with a big value.
type bigValue struct {
	*server
	kind kind
	// dump is the payload of the smaller value, between DUMP and RESTORE.
	dump string
}

const (
	bigKey = "big"
	// portableKey is the key of a value whose DUMP fits into one argument and one log entry. It has
	// one in portablePart of the elements.
	portableKey, restoredKey = "portable", "restored"
	portablePart             = 10
	// copiedKey is the key of a copy of the big value.
	copiedKey = "copied"
)

var bigSteps = []bigStep{
	{name: "snapshot", run: (*bigValue).snapshot},
	{name: "DEBUG RELOAD", run: func(v *bigValue) error { return v.do("DEBUG", "RELOAD") }},
	{name: "DUMP", run: func(v *bigValue) (err error) {
		if v.dump, err = one(v.addr(), "DUMP", portableKey); err == nil && v.dump == "" {
			err = errors.New("DUMP found nothing")
		}
		return err
	}},
	{name: "RESTORE", run: func(v *bigValue) error { return v.do("RESTORE", restoredKey, "0", v.dump, "REPLACE") }},
	{name: "COPY", run: func(v *bigValue) error { return v.do("COPY", bigKey, copiedKey, "REPLACE") }},
	{name: "UNLINK", last: true, run: func(v *bigValue) error { return v.do("UNLINK", bigKey) }},
}

func (v *bigValue) do(args ...string) error {
	_, err := one(v.addr(), args...)
	return err
}

// snapshot writes everything to disk: by LOCKSTEP SNAPSHOT, like clusterctl snapshot, or by BGSAVE
// in Redis, until it is done.
func (v *bigValue) snapshot() error {
	if !v.isRedis() {
		return v.do("LOCKSTEP", "SNAPSHOT")
	}
	if err := v.do("BGSAVE"); err != nil {
		return err
	}
	deadline := time.Now().Add(onePatience)
	for time.Now().Before(deadline) {
		if field(v.addr(), "rdb_bgsave_in_progress") == "0" {
			if status := field(v.addr(), "rdb_last_bgsave_status"); status != "ok" {
				return errors.New("BGSAVE: " + status)
			}
			return nil
		}
		<-time.After(20 * time.Millisecond)
	}
	return errors.New("BGSAVE does not end")
}

// bigRow is the measurement during a step, or without one.
type bigRow struct{ p99, longest, took *row }

// bigValues measures how long GET and SET of other keys take during operations on a value of
// millions of elements.
func bigValues(b *bench) error {
	n := b.n(5_000_000)
	for _, k := range []kind{zsetKind, hashKind} {
		rows := b.bigRows(k, n)
		for _, start := range []func() (*server, error){
			func() (*server, error) {
				return b.redis(append([]string{"--enable-debug-command", "yes", "--auto-aof-rewrite-percentage", "0"}, durable...)...)
			},
			func() (*server, error) {
				all, err := b.cluster(1, defaultStore, "--enable-debug-command", "yes")
				if len(all) == 0 {
					return nil, err
				}
				return all[0], err
			},
		} {
			s, err := start()
			if s != nil {
				defer s.kill()
			}
			if err != nil {
				return err
			}
			if err := b.bigValue(&bigValue{server: s, kind: k}, n, rows); err != nil {
				return fmt.Errorf("%s: %s of %d: %w", s.name, k.name, n, err)
			}
			s.kill()
		}
	}
	b.notes = append(b.notes, fmt.Sprintf("Others are 8 clients that GET and SET 1,000 keys in turn, one command at a time. Snapshot is BGSAVE until it is done, and LOCKSTEP SNAPSHOT, what `clusterctl snapshot` asks for. DUMP and RESTORE are of a value of %d elements, whose payload is one argument and one log entry. UNLINK is measured once, the others in as many rounds as there are, at most %d. During DEBUG RELOAD redis-server refuses some commands with LOADING, and these quick error replies count in its p99; a node lets commands wait.", n/portablePart, bigRoundsMax))
	return nil
}

// bigRows makes the rows of a kind; the first is the one without a step.
func (b *bench) bigRows(k kind, n int) []bigRow {
	what := fmt.Sprintf("%s of %d: ", k.name, n)
	rows := []bigRow{{p99: b.row(row{name: what + "quiet, p99 of others", unit: "ms"})}}
	rows[0].longest = b.row(row{name: what + "quiet, longest of others", unit: "ms"})
	for _, step := range bigSteps {
		name := what + step.name
		rows = append(rows, bigRow{
			p99:     b.row(row{name: name + ", p99 of others", unit: "ms"}),
			longest: b.row(row{name: name + ", longest of others", unit: "ms"}),
			took:    b.row(row{name: name + ", takes", unit: "s"}),
		})
	}
	return rows
}

const bigRoundsMax = 3

// bigValue fills one server and measures all steps on it.
func (b *bench) bigValue(v *bigValue, n int, rows []bigRow) error {
	if err := v.kind.fill(v.server, bigKey, n, 0); err != nil {
		return err
	}
	if err := v.kind.fill(v.server, portableKey, n/portablePart, 0); err != nil {
		return err
	}
	// Work that filling has left is done before the quiet round.
	if err := v.snapshot(); err != nil {
		return err
	}
	rounds := min(b.rounds, bigRoundsMax)
	for round := range rounds {
		if err := b.othersBeside(v, nil, rows[0]); err != nil {
			return err
		}
		for i, step := range bigSteps {
			if step.last && round < rounds-1 {
				continue
			}
			if err := b.othersBeside(v, &step, rows[i+1]); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
		}
	}
	return nil
}

// othersBeside measures the other clients while a step runs, and for a while at least. Without a
// step it measures for that while.
func (b *bench) othersBeside(v *bigValue, step *bigStep, r bigRow) error {
	others := load{clients: 8, batch: otherKeys}
	begin := time.Now()
	done := make(chan struct{})
	var took time.Duration
	var failed error
	go func() {
		defer close(done)
		if step != nil {
			failed = step.run(v)
			took = time.Since(begin)
		}
	}()
	least := b.seconds(3)
	res, err := others.runWhile(v.addr(), func() bool {
		select {
		case <-done:
			return time.Since(begin) < least
		default:
			return true
		}
	})
	<-done
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	r.p99.add(v.server, res.ms(99))
	r.longest.add(v.server, float64(res.hist.Max())/1000)
	if r.took != nil {
		r.took.add(v.server, took.Seconds())
	}
	if res.errors > 0 {
		r.p99.note += fmt.Sprintf("%s: %d error replies. ", v.name, res.errors)
	}
	return nil
}
