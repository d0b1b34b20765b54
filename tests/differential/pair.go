package differential

import (
	"fmt"
	"sync"

	"lockstep/tests/kit/respconn"
)

// server is one of the two servers, with its connections.
type server struct {
	name, addr string
	conns      [connections]*respconn.Conn
}

// reset empties the server and opens new connections.
func (s *server) reset() error {
	s.close()
	for i := range s.conns {
		c, err := respconn.Dial(s.addr)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.conns[i] = c
		if i < connections/2 {
			continue
		}
		if v, err := c.Do("HELLO", "3"); err != nil || v.IsError() {
			return fmt.Errorf("%s: HELLO 3: %v, %w", s.name, v, err)
		}
	}
	for _, command := range [][]string{{"FLUSHALL"}, {"FUNCTION", "FLUSH"}, {"SCRIPT", "FLUSH"}} {
		if v, err := s.conns[0].Do(command...); err != nil || v.IsError() {
			return fmt.Errorf("%s: %v: %v, %w", s.name, command, v, err)
		}
	}
	// A transaction that its WATCH aborts leaves its scripts in the cache here, because they are
	// planned before; in Redis it does not. So the scripts are loaded from the start.
	for _, text := range luaTexts {
		if _, err := s.conns[0].Do("SCRIPT", "LOAD", text); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (s *server) close() {
	for i, c := range s.conns {
		if c != nil {
			c.Close()
		}
		s.conns[i] = nil
	}
}

// run sends commands of one connection as a pipeline.
func (s *server) run(ops []op) ([]respconn.Value, error) {
	var commands [][]string
	for _, o := range ops {
		commands = append(commands, o.args)
	}
	replies, err := s.conns[ops[0].conn].Pipeline(commands...)
	if err != nil {
		err = fmt.Errorf("%s: after %d replies to %q: %w", s.name, len(replies), commands, err)
	}
	return replies, err
}

// pair is redis-server and the server under test.
type pair struct {
	redis, ours *server
	queued      queues
	// spurious counts the EXECs that Redis executed and Lockstep did not.
	spurious int
}

func newPair(redisAddr, ourAddr string) *pair {
	return &pair{redis: &server{name: "redis-server", addr: redisAddr}, ours: &server{name: "lockstep", addr: ourAddr}}
}

func (p *pair) close() {
	p.redis.close()
	p.ours.close()
}

// mismatch is a command that was answered differently.
type mismatch struct {
	at    int
	op    op
	redis respconn.Value
	ours  respconn.Value
}

func (m *mismatch) String() string {
	return fmt.Sprintf("command %d: %s\nlockstep answers -, redis-server +\n%s", m.at, m.op, respconn.Difference(m.ours.String(), m.redis.String()))
}

// String is the command as a user would type it into redis-cli.
func (o op) String() string {
	text := fmt.Sprintf("c%d>", o.conn+1)
	if o.conn >= connections/2 {
		text += " @3"
	}
	for _, a := range o.args {
		text += " " + respconn.Quote([]byte(a))
	}
	return text
}

// play sends the commands to both servers and returns the first difference, or nil. Consecutive
// commands of one connection are a pipeline; an EXEC ends it, because it may have to be repeated.
func (p *pair) play(ops []op) (*mismatch, error) {
	if err := p.both(func(s *server) error { return s.reset() }); err != nil {
		return nil, err
	}
	p.queued = queues{}
	for i := 0; i < len(ops); {
		n := runLength(ops[i:])
		m, err := p.compare(ops[i : i+n])
		if m != nil {
			m.at += i
		}
		if m != nil || err != nil {
			return m, err
		}
		i += n
	}
	m, err := p.compareState()
	if m != nil {
		m.at = len(ops) // after all of them
	}
	return m, err
}

func runLength(ops []op) int {
	n := 1
	for n < len(ops) && ops[n].conn == ops[0].conn && n < runMax && ops[n-1].name() != "EXEC" {
		n++
	}
	return n
}

// tryAgain does what a client does whose EXEC was not executed: it sends the transaction once more.
// Lockstep may require that when Redis does not (see Exceptions). It returns the final answer.
func (p *pair) tryAgain(o op, queued []op, redis, ours respconn.Value) (respconn.Value, error) {
	if len(queued) == 0 || redis.Null || !ours.Null {
		return ours, nil
	}
	p.spurious++
	again := []op{{o.conn, []string{"MULTI"}}}
	again = append(again, queued...)
	replies, err := p.ours.run(append(again, o))
	if err != nil {
		return ours, err
	}
	return replies[len(replies)-1], nil
}

// compare runs one pipeline on both servers.
func (p *pair) compare(ops []op) (*mismatch, error) {
	var replies [2][]respconn.Value
	err := p.both(func(s *server) error {
		got, err := s.run(ops)
		if s == p.redis {
			replies[0] = got
		} else {
			replies[1] = got
		}
		return err
	})
	for i := range min(len(replies[0]), len(replies[1])) {
		a, b := replies[0][i], replies[1][i]
		queued := p.queued.take(ops[i], a)
		if b, err = p.tryAgain(ops[i], queued, a, b); err != nil {
			return nil, err
		}
		same := canonical(ops[i], a) == canonical(ops[i], b)
		if !same && queued != nil {
			same = canonicalExec(queued, a) == canonicalExec(queued, b)
		}
		if !same {
			return &mismatch{i, ops[i], a, b}, nil
		}
	}
	return nil, err
}

// both does the same on both servers at the same time.
func (p *pair) both(do func(*server) error) error {
	var errs [2]error
	var wg sync.WaitGroup
	for i, s := range []*server{p.redis, p.ours} {
		wg.Go(func() { errs[i] = do(s) })
	}
	wg.Wait()
	if errs[0] != nil {
		return errs[0]
	}
	return errs[1]
}

const databases = 16

// compareState reads everything back from both: the final state must also be the same.
func (p *pair) compareState() (*mismatch, error) {
	ask := func(args ...string) (*mismatch, error) { return p.compare([]op{{0, args}}) }
	if m, err := ask("RESET"); m != nil || err != nil {
		return m, err
	}
	for db := range databases {
		if m, err := ask("SELECT", fmt.Sprint(db)); m != nil || err != nil {
			return m, err
		}
		if m, err := ask("KEYS", "*"); m != nil || err != nil {
			return m, err
		}
		listed, err := p.redis.conns[0].Do("KEYS", "*")
		if err != nil {
			return nil, err
		}
		for _, k := range listed.Elems {
			for _, c := range stateReads(string(k.Bytes)) {
				if m, err := ask(c...); m != nil || err != nil {
					return m, err
				}
			}
		}
	}
	return nil, nil
}

// stateReads are the commands that read a whole key. Those for other types fail in the same way on
// both servers.
func stateReads(key string) [][]string {
	return [][]string{
		{"TYPE", key}, {"PEXPIRETIME", key}, {"OBJECT", "ENCODING", key},
		{"GET", key},
		{"LRANGE", key, "0", "-1"}, {"HGETALL", key}, {"SMEMBERS", key}, {"ZRANGE", key, "0", "-1", "WITHSCORES"},
		{"XRANGE", key, "-", "+"}, {"XINFO", "STREAM", key}, {"XINFO", "STREAM", key, "FULL", "COUNT", "0"},
	}
}
