package server_test

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"lockstep/tests/respconn"
)

// monitored is what a monitor sees of a script, up to the ECHO at its end.
func monitored(t *testing.T, addr, script string) string {
	t.Helper()
	m := dial(t, addr)
	if got := do(t, m, "MONITOR"); got != "+OK" {
		t.Fatal(got)
	}
	c := dial(t, addr)
	if err := c.Write([]byte(commandsOf(t, script+"\nECHO end-of-script\n"))); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for {
		v, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		line := monitorMarks.ReplaceAllString(v.String(), "<when> [$1 <who>]")
		b.WriteString(line + "\n")
		if strings.Contains(line, "end-of-script") {
			return b.String()
		}
	}
}

// monitorMarks are what must differ: times and addresses.
var monitorMarks = regexp.MustCompile(`\d+\.\d{6} \[(\d+) 127\.0\.0\.1:\d+\]`)

var monitorScripts = map[string]string{
	"data":        "SET a 1\nGET a\nGET\nNOTHING\nLPUSH a x\nget a\nDEL a b c",
	"connection":  "PING\nPING x\nECHO y\nSELECT 3\nGET a\nSELECT 99\nCLIENT SETNAME me\nCLIENT ID\nCOMMAND COUNT\nRESET\nPING",
	"passwords":   "AUTH secret\nAUTH me secret\nHELLO 3 AUTH default secret SETNAME x\nHELLO 9\nCONFIG SET timeout 0 requirepass \"\"",
	"admin":       "CONFIG GET port\nSLOWLOG LEN\nCLIENT LIST\nLATENCY LATEST\nDEBUG SLEEP 0",
	"transaction": "MULTI\nSET a 1\nSELECT 3\nGET a\nPING\nCONFIG GET port\nEXEC\nMULTI\nEXEC\nMULTI\nBAD\nEXEC\nEXEC\nMULTI\nSET a 2\nDISCARD\nWATCH a\nMULTI\nGET a\nEXEC\nUNWATCH",
	"watch":       "SET w 1\nWATCH w\nSET w 2\nMULTI\nGET w\nEXEC\nGET w",
	"bytes":       `SET "a\x00b\"\\\n\r\t\a\b\xff" é`,
	"messages":    "PUBLISH ch hello\nSUBSCRIBE ch\nUNSUBSCRIBE ch\nINFO server\nBLPOP list 0.01\nRPUSH list x\nBLPOP list 1",
	"itself":      "MULTI\nMONITOR\nEXEC",
}

func TestMonitorShowsWhatRedisShows(t *testing.T) {
	redis := startRedis(t)
	for _, shards := range []int{1, 3} {
		n := startNode(t, shards)
		for name, script := range monitorScripts {
			if want, got := monitored(t, redis, script), monitored(t, n.addr, script); want != got {
				t.Errorf("%s, %d shards:\n%s", name, shards, difference(want, got))
			}
		}
	}
	n := startNode(t, 1)
	inBoth(t, n.addr, redis, "refused", "MONITOR x\nMULTI\nMONITOR\nPING\nEXEC")
}

// A client that monitors sees itself, its replies first; RESET ends that.
func TestWhoMonitorsMayGoOn(t *testing.T) {
	redis := startRedis(t)
	n := startNode(t, 1)
	for _, proto := range []string{"2", "3"} {
		var said [2]string
		for i, addr := range []string{redis, n.addr} {
			c := dial(t, addr)
			do(t, c, "HELLO", proto)
			do(t, c, "MONITOR")
			var b strings.Builder
			b.WriteString(do(t, c, "SET", "a", "1") + "\n")
			for _, args := range [][]string{{"PING"}, {"ECHO", "y"}} {
				b.WriteString(do(t, c, args...) + "\n")
				v, err := c.Read()
				if err != nil {
					t.Fatal(err)
				}
				b.WriteString(monitorMarks.ReplaceAllString(v.String(), "<line $1>") + "\n")
			}
			b.WriteString(do(t, c, "RESET") + "\n")
			b.WriteString(do(t, c, "PING") + "\n" + do(t, c, "PING", "x"))
			said[i] = b.String()
		}
		if said[0] != said[1] {
			t.Errorf("RESP%s:\n%s", proto, difference(said[0], said[1]))
		}
	}
}

// A monitor that does not read is cut off at the output limit, and holds up
// nobody; one that reads meanwhile loses nothing.
func TestASlowMonitorIsCutOff(t *testing.T) {
	n := startNode(t, 1)
	n.set(func(s *settings) { s.NormalOutput.HardBytes = 1 << 20 })
	slow, err := net.Dial("tcp", n.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := slow.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReaderSize(slow, 16).ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatal(line, err)
	}
	c := dial(t, n.addr)
	value := strings.Repeat("x", 1<<20)
	until(t, "the monitor is cut off", func() bool {
		do(t, c, "SET", "a", value)
		return n.registry.Len() == 1
	})
	if got := do(t, c, "PING"); got != "+PONG" {
		t.Error(got)
	}
	if n.stats.OutputClosed.Load() != 1 {
		t.Errorf("%d connections were closed for their output", n.stats.OutputClosed.Load())
	}
}

// What several clients run is seen whole and in each client's order.
func TestMonitorSeesAllClients(t *testing.T) {
	n := startNode(t, 1)
	m := dial(t, n.addr)
	do(t, m, "MONITOR")
	const clients, each = 4, 200
	for i := range clients {
		c := dial(t, n.addr)
		var raw []byte
		for j := range each {
			raw = respconn.AppendCommand(raw, "SET", fmt.Sprintf("client%d", i), fmt.Sprint(j))
		}
		go func() { _ = c.Write(raw) }()
	}
	var next [clients]int
	for range clients * each {
		v, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		var i, j int
		_, words, _ := strings.Cut(v.String(), "] ")
		if _, err := fmt.Sscanf(words, `"SET" "client%d" "%d"`, &i, &j); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		if next[i] != j {
			t.Fatalf("client %d: %d after %d", i, j, next[i]-1)
		}
		next[i]++
	}
}
