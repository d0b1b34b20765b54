package command

import (
	"testing"
	"time"

	redis "lockstep/tests/oracle"
)

// oracle is a redis-server to compare with.
type oracle struct {
	*redis.Server
	t testing.TB
}

func startOracle(t testing.TB) *oracle {
	t.Helper()
	return &oracle{redis.Start(t), t}
}

func (o *oracle) another() *oracle { return &oracle{o.Server.Another(), o.t} }

func (o *oracle) do(line string) string { return flat(o.Server.Exec(words(line)...)) }

// listen is a connection that hears messages: it has subscribed to two channels.
func (o *oracle) listen(subscribe string) *oracle {
	o.t.Helper()
	l := o.another()
	l.do(subscribe)
	l.Read()
	return l
}

// message is the next message: its kind, pattern, channel and text.
func (o *oracle) message() []any {
	o.t.Helper()
	return parseReply(o.t, o.Read()).([]any)
}

var readReply = redis.ReadReply

func wallMs() int64 { return time.Now().UnixMilli() }
