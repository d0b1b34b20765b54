package cmdtest

import (
	"testing"
	"time"

	redis "lockstep/tests/kit/oracle"
)

// Oracle is a redis-server to compare with.
type Oracle struct {
	*redis.Server
	T testing.TB
}

func StartOracle(t testing.TB) *Oracle {
	t.Helper()
	return &Oracle{redis.Start(t), t}
}

func (o *Oracle) Another() *Oracle { return &Oracle{o.Server.Another(), o.T} }

func (o *Oracle) Do(line string) string { return Flat(o.Server.Exec(Words(line)...)) }

// Listen returns a connection that receives messages. The command subscribes to two channels.
func (o *Oracle) Listen(subscribe string) *Oracle {
	o.T.Helper()
	l := o.Another()
	l.Do(subscribe)
	l.Read()
	return l
}

// Message returns the next message: its kind, pattern, channel and text.
func (o *Oracle) Message() []any {
	o.T.Helper()
	return ParseReply(o.T, o.Read()).([]any)
}

var readReply = redis.ReadReply

func WallMs() int64 { return time.Now().UnixMilli() }
