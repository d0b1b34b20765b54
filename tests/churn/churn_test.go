// Package churn lets clients connect and leave in every possible way. They must get correct answers
// and leave nothing behind: afterwards the nodes have as many connections, descriptors and
// goroutines, and use about as much memory, as before.
package churn

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	// patience bounds the waits for steps that take a moment on an idle machine.
	patience = 90 * time.Second
	// churnTime is how long clients connect and leave.
	churnTime = 8 * time.Second
	// actorsMax is the number of clients at a time. Half of them are wild: such a client may be
	// disconnected, or may leave without reading the replies to its commands.
	actorsMax = 240
)

// stage is what all clients share.
type stage struct {
	t     *testing.T
	nodes []*proc.Node
	big   string
	until time.Time
	// prey holds the ids of the connected wild clients, by node. Guarded by mu.
	mu   sync.Mutex
	prey []map[string]bool
}

// actor is a series of connections, one after the other, with a counter that no other actor
// changes.
type actor struct {
	*stage
	r    *rand.Rand
	name string
	wild bool
	// counter is the last reply to an INCR, and asked is the number of INCRs sent.
	counter, asked int
	node           int
	conn           *respconn.Conn
	// lists counts the lists of isFilled.
	lists int
}

// errCut ends a connection that a wild client has lost or closed.
var errCut = errors.New("cut off")

func (a *actor) fail(format string, args ...any) error {
	a.t.Errorf("%s: %s", a.name, fmt.Sprintf(format, args...))
	return errCut
}

// lost handles an error of the connection.
func (a *actor) lost(what string, err error) error {
	if a.wild && !os.IsTimeout(err) {
		return errCut
	}
	return a.fail("%s: %v", what, err)
}

// live runs one connection from its beginning to its end.
func (a *actor) live() {
	a.node = a.r.Intn(len(a.nodes))
	conn, err := respconn.Dial(a.nodes[a.node].Addr())
	if err != nil {
		_ = a.fail("dial: %v", err)
		return
	}
	defer conn.Close()
	conn.Patience = patience
	a.conn = conn
	if a.wild {
		id, err := conn.Do("CLIENT", "ID")
		if err != nil {
			_ = a.lost("CLIENT ID", err)
			return
		}
		a.hunted(string(id.Bytes), true)
		defer a.hunted(string(id.Bytes), false)
	}
	acts := []func() error{a.pipeline, a.pipeline, a.transaction, a.block, a.isFilled, a.subscribe, a.bytewise, a.slowReads, a.monitor}
	if a.wild {
		acts = append(acts, a.kill, a.leaveUnread, a.pause)
	}
	for range 1 + a.r.Intn(6) {
		if acts[a.r.Intn(len(acts))]() != nil {
			return
		}
	}
	a.part()
}

func (a *actor) hunted(id string, yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if yes {
		a.prey[a.node][id] = true
	} else {
		delete(a.prey[a.node], id)
	}
}

// part closes a connection in good order.
func (a *actor) part() {
	tcp := a.conn.Net().(*net.TCPConn)
	switch a.r.Intn(4) {
	case 0:
		if v, err := a.conn.Do("QUIT"); err != nil || v.String() != "+OK" {
			_ = a.lost("QUIT: "+v.String(), err)
		}
	case 1:
		_ = tcp.SetLinger(0)
	case 2:
		// This uses no write command. As in Redis, a paused client that sends nothing more counts
		// as gone.
		if a.conn.Write(append(respconn.Command("PING"), respconn.Command("ECHO", a.name)...)) != nil || tcp.CloseWrite() != nil {
			_ = a.lost("half-close", io.ErrClosedPipe)
			return
		}
		if a.want("+PONG", "the last but one") != nil || a.want(`"`+a.name+`"`, "the last") != nil {
			return
		}
		if _, err := a.conn.Read(); err == nil || os.IsTimeout(err) {
			_ = a.fail("behind a half-close: %v", err)
		}
	}
}

// want reads one reply and compares it.
func (a *actor) want(want, what string) error {
	v, err := a.conn.Read()
	switch {
	case err != nil:
		return a.lost(what, err)
	case v.String() != want:
		return a.fail("%s: %.200s, want %.200s", what, v, want)
	}
	return nil
}

func (a *actor) do(want string, args ...string) error {
	if err := a.conn.Send(args...); err != nil {
		return a.lost(args[0], err)
	}
	return a.want(want, strings.Join(args[:min(len(args), 3)], " "))
}

// pipeline sends commands of all kinds and forms, in pieces, and then reads the replies.
func (a *actor) pipeline() error {
	var raw []byte
	var wants []string
	counter := a.counter
	for range 1 + a.r.Intn(1<<a.r.Intn(9)) {
		want := ""
		switch a.r.Intn(8) {
		case 0, 1:
			counter++
			raw, want = respconn.AppendCommand(raw, "INCR", a.name), fmt.Sprint(":", counter)
		case 2, 3:
			raw, want = respconn.AppendCommand(raw, "GET", a.name), `"`+strconv.Itoa(counter)+`"`
			if counter == 0 {
				want = "(nil)"
			}
		case 4:
			raw, want = append(raw, "PING\r\n"...), "+PONG"
		case 5:
			raw, want = respconn.AppendCommand(raw, "ECHO", a.name), `"`+a.name+`"`
		case 6:
			raw, want = append(raw, "ECHO "+a.name+"\r\n"...), `"`+a.name+`"`
		case 7:
			if a.r.Intn(4) > 0 {
				continue
			}
			raw, want = respconn.AppendCommand(raw, "LRANGE", "none", "0", "-1"), "*0"
		}
		wants = append(wants, want)
	}
	a.asked += counter - a.counter
	cut := a.r.Intn(len(raw) + 1)
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(a.conn.Write(raw[:cut]), a.conn.Write(raw[cut:])) }()
	for i, want := range wants {
		if err := a.want(want, fmt.Sprintf("reply %d of %d", i, len(wants))); err != nil {
			a.conn.Close()
			<-sent
			return err
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(want, ":")); err == nil && want[0] == ':' {
			a.counter = n
		}
	}
	if err := <-sent; err != nil {
		return a.lost("pipeline", err)
	}
	return nil
}

func (a *actor) transaction() error {
	a.asked++
	for _, c := range [][]string{{"+OK", "MULTI"}, {"+QUEUED", "INCR", a.name}, {"+QUEUED", "PING"}} {
		if err := a.do(c[0], c[1:]...); err != nil {
			return err
		}
	}
	if err := a.conn.Send("EXEC"); err != nil {
		return a.lost("EXEC", err)
	}
	v, err := a.conn.Read()
	switch {
	case err != nil:
		return a.lost("EXEC", err)
	case len(v.Elems) != 2 || v.Elems[0].String() != fmt.Sprint(":", a.counter+1):
		return a.fail("EXEC: %s behind %d", v, a.counter)
	}
	a.counter++
	return nil
}

// block runs a blocking command that ends by its timeout.
func (a *actor) block() error {
	if err := a.conn.Send("BLPOP", a.name+":list", "0.02"); err != nil {
		return a.lost("BLPOP", err)
	}
	v, err := a.conn.Read()
	switch {
	case err != nil:
		return a.lost("BLPOP", err)
	case v.String() != "(nil)" && v.String() != "(nil array)":
		return a.fail("BLPOP: %s", v)
	}
	return nil
}

// other runs a command on another connection.
func (a *actor) other(args ...string) error {
	if v, err := proc.Ask(a.nodes[a.r.Intn(len(a.nodes))].Addr(), args...); err != nil {
		return a.fail("%q: %s, %v", args, v, err)
	}
	return nil
}

// isFilled waits for an element that another connection pushes, and sends a further command
// meanwhile.
func (a *actor) isFilled() error {
	// Each wait has a list of its own, because the wait of a broken connection may last longer than
	// the connection.
	a.lists++
	list := fmt.Sprint(a.name, ":filled:", a.lists)
	if err := a.conn.Write(append(respconn.Command("BLPOP", list, "0"), "PING\r\n"...)); err != nil {
		return a.lost("BLPOP", err)
	}
	if err := a.other("RPUSH", list, "x"); err != nil {
		return err
	}
	v, err := a.conn.Read()
	if err != nil {
		_ = a.other("DEL", list)
		return a.lost("BLPOP", err)
	}
	if len(v.Elems) != 2 {
		return a.fail("BLPOP: %s", v)
	}
	return a.want("+PONG", "PING behind BLPOP")
}

func (a *actor) subscribe() error {
	if err := a.conn.Send("SUBSCRIBE", a.name); err != nil {
		return a.lost("SUBSCRIBE", err)
	}
	if _, err := a.conn.Read(); err != nil {
		return a.lost("SUBSCRIBE", err)
	}
	if err := a.other("PUBLISH", a.name, "m"); err != nil {
		return err
	}
	for _, c := range []string{"m", a.name} {
		v, err := a.conn.Read()
		if err != nil {
			return a.lost("a message", err)
		}
		if last := len(v.Elems) - 1; last != 2 || c == "m" && string(v.Elems[last].Bytes) != c {
			return a.fail("a message: %s", v)
		}
		if c == "m" {
			if err := a.conn.Send("UNSUBSCRIBE"); err != nil {
				return a.lost("UNSUBSCRIBE", err)
			}
		}
	}
	return a.do("+PONG", "PING")
}

// bytewise sends one command a byte at a time.
func (a *actor) bytewise() error {
	for _, b := range respconn.Command("ECHO", a.name) {
		if err := a.conn.Write([]byte{b}); err != nil {
			return a.lost("a byte", err)
		}
	}
	return a.want(`"`+a.name+`"`, "ECHO byte by byte")
}

// slowReads sends so many commands that wait that the node takes the connection out of its event
// loop.
func (a *actor) slowReads() error {
	for range a.r.Intn(20) {
		if err := a.do("*0", "LRANGE", "none", "0", "-1"); err != nil {
			return err
		}
	}
	return nil
}

// monitor reads the commands of other clients for a moment, and leaves.
func (a *actor) monitor() error {
	if a.r.Intn(10) > 0 {
		return nil
	}
	if err := a.do("+OK", "MONITOR"); err != nil {
		return err
	}
	// The other actors may have ended already.
	for range 20 {
		if _, err := proc.Ask(a.nodes[a.node].Addr(), "PING"); err != nil {
			return a.fail("PING beside MONITOR: %v", err)
		}
		if _, err := a.conn.Read(); err != nil {
			return a.lost("MONITOR", err)
		}
	}
	return errCut
}

// kill disconnects another wild client, or this one.
func (a *actor) kill() error {
	a.mu.Lock()
	ids := make([]string, 0, len(a.prey[a.node]))
	for id := range a.prey[a.node] {
		ids = append(ids, id)
	}
	a.mu.Unlock()
	slices.Sort(ids)
	v, err := a.conn.Do("CLIENT", "KILL", "SKIPME", "no", "ID", ids[a.r.Intn(len(ids))])
	switch {
	case err != nil:
		return a.lost("CLIENT KILL", err)
	case v.String() != ":0" && v.String() != ":1":
		return a.fail("CLIENT KILL: %s", v)
	}
	return nil
}

// leaveUnread sends many commands, reads few or no replies, and closes the connection.
func (a *actor) leaveUnread() error {
	var raw []byte
	for range 1 + a.r.Intn(60) {
		raw = respconn.AppendCommand(raw, "GET", a.big)
		raw = respconn.AppendCommand(raw, "INCR", a.name)
		a.asked++
	}
	if err := a.conn.Write(raw); err != nil {
		return a.lost("a pipeline", err)
	}
	if a.r.Intn(2) == 0 {
		_, _ = a.conn.Read()
	}
	if a.r.Intn(2) == 0 {
		_ = a.conn.Net().(*net.TCPConn).SetLinger(0)
	}
	return errCut
}

func (a *actor) pause() error {
	if a.r.Intn(10) > 0 {
		return nil
	}
	return a.do("+OK", "CLIENT", "PAUSE", "20", "WRITE")
}

// act runs connections until the time is over. A wild client reads its counter between two
// connections, because commands without a reply may have run.
func (a *actor) act() {
	for time.Now().Before(a.until) && !a.t.Failed() {
		a.live()
		if a.wild {
			a.settle()
		}
	}
}

// settle starts a new counter if the value of the old one is not certain, because commands of a
// closed connection may still run.
func (a *actor) settle() {
	if a.counter < a.asked {
		a.check()
		a.name += "+"
		a.counter, a.asked = 0, 0
	}
}

// check compares the counter with the numbers of commands sent and answered.
func (a *actor) check() {
	text, err := proc.Ask(a.nodes[0].Addr(), "GET", a.name)
	n, _ := strconv.Atoi(text)
	if err != nil || n < a.counter || n > a.asked {
		_ = a.fail("the counter is %q (%v); %d were answered, %d sent", text, err, a.counter, a.asked)
	}
}

// holding is the number of resources that a node uses for its clients.
type holding struct{ connected, descriptors, goroutines int }

var scraper = http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func held(n *proc.Node, admin string) (h holding) {
	_, _ = fmt.Sscan(proc.Info(n.Addr(), "clients")["connected_clients"], &h.connected)
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.Pid()))
	h.descriptors = len(files)
	res, err := scraper.Get(admin + "/metrics")
	if err != nil {
		return h
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	_, rest, _ := strings.Cut(string(text), "\ngo_goroutines ")
	_, _ = fmt.Sscan(rest, &h.goroutines)
	return h
}

// TestClientsThatComeAndGoLeaveNothingBehind: for some seconds the clients of three nodes connect,
// send pipelines, block, subscribe, are killed, half-close, reset their connections and leave
// replies unread. Every reply is correct. In the end no client is left on the nodes, and no
// descriptor or goroutine of a client.
func TestClientsThatComeAndGoLeaveNothingBehind(t *testing.T) {
	proc.NeedProcesses(t)
	const seed, slack, memoryMax = 1, 12, 300 << 20
	var admins []string
	// The leader uses more resources, so it must not change.
	c := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader, Before: func(n *proc.Node) {
		port := proc.FreePort(t)
		n.Flags("--admin-port", strconv.Itoa(port))
		admins = append(admins, fmt.Sprintf("http://127.0.0.1:%d", port))
	}})
	s := &stage{t: t, nodes: c.Nodes, big: "big", until: time.Now().Add(churnTime)}
	for range c.Nodes {
		s.prey = append(s.prey, map[string]bool{})
	}
	if _, err := proc.Ask(c.Nodes[0].Addr(), "SET", s.big, strings.Repeat("x", 100_000)); err != nil {
		t.Fatal(err)
	}
	var before []holding
	var rss []int64
	for i, n := range c.Nodes {
		before = append(before, held(n, admins[i]))
		rss = append(rss, n.RSS())
	}
	t.Logf("before: %+v", before)
	actors := make([]*actor, actorsMax)
	var all sync.WaitGroup
	for i := range actors {
		a := &actor{stage: s, r: rand.New(rand.NewSource(seed + int64(i))), name: fmt.Sprint("actor", i), wild: i%2 == 1}
		actors[i] = a
		all.Go(a.act)
	}
	all.Wait()
	sum := 0
	for _, a := range actors {
		a.check()
		if sum += a.counter; !a.wild && a.counter != a.asked {
			t.Errorf("%s: %d of %d were answered", a.name, a.counter, a.asked)
		}
	}
	t.Logf("the last counters say %d", sum)
	for i, n := range c.Nodes {
		var now holding
		if !proc.Poll(patience, func() bool {
			now = held(n, admins[i])
			return now.connected == 1 && now.descriptors <= before[i].descriptors+slack && now.goroutines <= before[i].goroutines+slack
		}) {
			t.Errorf("%s holds %+v, and held %+v", n.Name, now, before[i])
		}
		grown := n.RSS() - rss[i]
		t.Logf("%s: %+v, %d MB more, %s connections", n.Name, now, grown>>20, proc.Info(n.Addr(), "stats")["total_connections_received"])
		if grown > memoryMax && os.Getenv("LOCKSTEP_RACE") == "" {
			t.Errorf("%s has grown by %d MB", n.Name, grown>>20)
		}
		if log := n.Log(); strings.Contains(log, "panic") || strings.Contains(log, "internal error") || strings.Contains(log, "DATA RACE") {
			t.Errorf("%s has written of a fault: %s", n.Name, n.LogTail(2000))
		}
	}
}

// TestANodeOutOfDescriptorsGoesOn: a node without free descriptors still serves its clients. It
// serves the others when some clients have left.
func TestANodeOutOfDescriptorsGoesOn(t *testing.T) {
	proc.NeedProcesses(t)
	const clients = 200
	n := proc.NewNode(t, proc.Options{Before: func(n *proc.Node) { n.Limit("--nofile=150:150") }})
	conns := make([]*respconn.Conn, clients)
	for i := range conns {
		conns[i] = proc.Dial(t, n.Addr())
	}
	for _, c := range conns {
		if err := c.Send("INCR", "n"); err != nil {
			t.Fatal(err)
		}
	}
	served := map[string]bool{}
	proc.Wait(t, patience, "the log says that there are none left", func() bool { return strings.Contains(n.Log(), "too many open files") })
	for _, c := range conns {
		v, err := c.Read()
		if err != nil {
			t.Fatal(err)
		}
		if v.IsError() || served[v.String()] {
			t.Errorf("behind %d others: %s", len(served), v)
		}
		served[v.String()] = true
		c.Close()
	}
	if text, err := proc.Ask(n.Addr(), "GET", "n"); err != nil || text != strconv.Itoa(clients) || len(served) != clients {
		t.Errorf("%d of %d were served, and %q is counted, %v", len(served), clients, text, err)
	}
}
