package backup

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

// The mark of a running server's copy is put back if the cluster is emptied. A beat that has just
// found no mark must not put it back after End: then no backup could be made any more.
func TestNoBeatPutsBackAMarkThatHasEnded(t *testing.T) {
	t.Parallel()
	var hold atomic.Bool
	var beats atomic.Pointer[redcon.Conn]
	var set atomic.Int64
	var mark, done atomic.Value
	mark.Store("$-1\r\n")
	looked, goOn, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
	answer := func(conn redcon.Conn, args [][]byte) string {
		switch strings.ToUpper(string(args[0])) {
		case "GET":
			if hold.CompareAndSwap(true, false) {
				beats.Store(&conn)
				close(looked)
				<-goOn
				return "$-1\r\n"
			}
			return mark.Load().(string)
		case "SET":
			set.Add(1)
			mark.Store("+" + string(args[2]) + "\r\n")
			done.Store("*1\r\n+OK\r\n")
			return "+QUEUED\r\n"
		case "DEL":
			done.Store("*1\r\n:1\r\n")
			return "+QUEUED\r\n"
		case "EXEC":
			return done.Load().(string)
		case "DBSIZE":
			return ":0\r\n"
		}
		words := make([]string, len(args))
		for i := range args {
			words[i] = string(args[i])
		}
		return plain(words)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := redcon.NewServer("", func(conn redcon.Conn, cmd redcon.Command) { conn.WriteRaw([]byte(answer(conn, cmd.Args))) },
		func(redcon.Conn) bool { return true },
		func(conn redcon.Conn, _ error) {
			if b := beats.Load(); b != nil && *b == conn {
				close(gone)
			}
		})
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	to := &Target{Addr: l.Addr().String(), Timeout: time.Minute}
	m := Mark{ID: "copy", What: "a copy", Live: true}
	if _, _, err := m.Start(t.Context(), to, false); err != nil {
		t.Fatal(err)
	}
	hold.Store(true)
	<-looked
	before := set.Load()
	if err := m.End(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	<-gone
	if n := set.Load() - before; n > 0 {
		t.Errorf("behind its end it was set %d times", n)
	}
}
