package differential

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// behindAll ends each conversation: whatever state the connection is in, after RESET it is like a
// new one, and answers.
const behindAll = "behind it all"

// converse sends bytes over a connection of its own, in pieces, and returns all answers, up to the
// end of the connection or of the input.
func converse(addr string, raw []byte, pieces int) ([]byte, error) {
	c, err := respconn.Dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	end := respconn.AppendCommand(respconn.Command("RESET"), "ECHO", behindAll)
	raw = append(bytes.Clone(raw), end...)
	for size := len(raw)/pieces + 1; len(raw) > 0; {
		// If the connection was cut off, reading reports it.
		_ = c.Write(raw[:min(size, len(raw))])
		raw = raw[min(size, len(raw)):]
	}
	var got []byte
	last := []byte(fmt.Sprintf("$%d\r\n%s\r\n", len(behindAll), behindAll))
	buf := make([]byte, 64<<10)
	for !bytes.HasSuffix(got, last) {
		if err := c.Net().SetReadDeadline(time.Now().Add(respconn.DefaultPatience)); err != nil {
			return nil, err
		}
		n, err := c.Net().Read(buf)
		got = append(got, buf[:n]...)
		if os.IsTimeout(err) {
			return nil, fmt.Errorf("%s: no end after %q: %w", addr, got, err)
		}
		if err != nil {
			return append(got, "(closed)"...), nil
		}
	}
	return got, nil
}

// ownFacts match the fields of HELLO that describe the server itself.
var ownFacts = regexp.MustCompile(`\$7\r\nversion\r\n\$\d+\r\n[0-9.]+\r\n|\$2\r\nid\r\n:\d+\r\n|\$4\r\nmode\r\n\$\d+\r\n[a-z]+\r\n`)

// sayings is one of the servers, in conversations.
type sayings struct {
	addr    string
	control *respconn.Conn
}

func newSayings(t *testing.T, addr string) *sayings {
	s := &sayings{addr, proc.Dial(t, addr)}
	s.do(t, "ACL", "SETUSER", "limited", "reset", "on", ">secret", "~k*", "~l", "&a*", "+@all", "-append", "-config", "-client|getredir")
	return s
}

func (s *sayings) do(t *testing.T, args ...string) string {
	t.Helper()
	v, err := s.control.Do(args...)
	if err != nil || v.IsError() {
		t.Fatalf("%s: %q: %v, %v", s.addr, args, v, err)
	}
	return string(v.Bytes)
}

// answers returns the answers to lines, on an empty server.
func (s *sayings) answers(t *testing.T, lines []string, pieces int) string {
	t.Helper()
	s.do(t, "FLUSHALL")
	for _, line := range lines {
		if closes(line) {
			// Input that is sent to a closed connection may discard answers that were sent before.
			pieces = 1
		}
	}
	got, err := converse(s.addr, rawLines(lines), pieces)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
	}
	proc.Wait(t, respconn.DefaultPatience, "nobody listens any more", func() bool {
		return !strings.Contains(s.do(t, "CLIENT", "LIST", "TYPE", "pubsub"), "id=")
	})
	return string(ownFacts.ReplaceAll(got, nil))
}

// stateKnown are conversations that have differed before.
var stateKnown = []string{
	"MULTI;SET k v;CLIENT REPLY OFF;GET k;PING;EXEC",
	"CLIENT REPLY OFF;MULTI;PING;SET k v;CLIENT REPLY ON;GET k;PING;EXEC",
	"MULTI;CLIENT REPLY OFF;SUBSCRIBE a;PING;EXEC;UNSUBSCRIBE",
	"MULTI;PING;CLIENT REPLY SKIP;PING;EXEC;PING;PING",
	"CLIENT REPLY SKIP;MULTI;CLIENT REPLY OFF;AUTH limited secret;GET j;EXEC;PING",
}

const (
	stateConversations     = 400
	longStateConversations = 40_000
)

// TestConnectionsAreWhatRedisMakesOfThem: transactions, subscriptions, muted replies, logins and
// protocols, in any order and nesting, in pipelines and in pieces. A follower must answer with
// redis-server's bytes.
func TestConnectionsAreWhatRedisMakesOfThem(t *testing.T) {
	theirs, ours := newSayings(t, proc.RedisServer(t).Addr()), newSayings(t, proc.NewCluster(t, 3, proc.Options{}).Follower().Addr())
	seed, n := proc.Seed(t, rand.Uint64N(1_000_000)), stateConversations
	if proc.Long() {
		n = longStateConversations
	}
	r := rand.New(rand.NewPCG(seed, seed))
	for i := range len(stateKnown) + n {
		lines, pieces := drawLines(r), 1+r.IntN(4)
		if i < len(stateKnown) {
			lines = strings.Split(stateKnown[i], ";")
		}
		differs := func(lines []string) bool { return theirs.answers(t, lines, pieces) != ours.answers(t, lines, pieces) }
		if !differs(lines) {
			continue
		}
		for at := 0; at < len(lines); {
			shorter := append(append([]string(nil), lines[:at]...), lines[at+1:]...)
			if differs(shorter) {
				lines = shorter
			} else {
				at++
			}
		}
		t.Errorf("in %d pieces:\n%s\nlockstep answers\n%q\nredis-server\n%q", pieces, strings.Join(lines, "\n"),
			ours.answers(t, lines, pieces), theirs.answers(t, lines, pieces))
	}
}
