package client_test

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// monitored returns what a monitor sees of a script, up to the ECHO at its end.
func monitored(t *testing.T, addr, script string) string {
	t.Helper()
	m := prototest.Dial(t, addr)
	if got := prototest.Do(t, m, "MONITOR"); got != "+OK" {
		t.Fatal(got)
	}
	c := prototest.Dial(t, addr)
	if err := c.Write([]byte(prototest.Commands(t, script+"\nECHO end-of-script\n"))); err != nil {
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

// monitorMarks match the parts that differ: times and addresses.
var monitorMarks = regexp.MustCompile(`\d+\.\d{6} \[(\d+) 127\.0\.0\.1:\d+\]`)

var monitorScripts = map[string]string{
	"data":        "SET a 1\nGET a\nGET\nNOTHING\nLPUSH a x\nget a\nDEL a b c",
	"connection":  "PING\nPING x\nECHO y\nSELECT 3\nGET a\nSELECT 99\nCLIENT SETNAME me\nCLIENT ID\nCOMMAND COUNT\nRESET\nPING",
	"passwords":   "AUTH secret\nAUTH me secret\nHELLO 3 AUTH default secret SETNAME x\nHELLO 9\nCONFIG SET timeout 0 requirepass \"\"",
	"admin":       "CONFIG GET port\nSLOWLOG LEN\nCLIENT LIST\nLATENCY LATEST\nDEBUG SLEEP 0",
	"transaction": "MULTI\nSET a 1\nSELECT 3\nGET a\nPING\nCONFIG GET port\nEXEC\nMULTI\nEXEC\nMULTI\nBAD\nEXEC\nEXEC\nMULTI\nSET a 2\nDISCARD\nWATCH a\nMULTI\nGET a\nEXEC\nUNWATCH",
	"no data":     "MULTI\nPING\nSELECT 3\nPING\nEXEC\nPING",
	"watch":       "SET w 1\nWATCH w\nSET w 2\nMULTI\nGET w\nEXEC\nGET w",
	"bytes":       `SET "a\x00b\"\\\n\r\t\a\b\xff" é`,
	"messages":    "PUBLISH ch hello\nSUBSCRIBE ch\nUNSUBSCRIBE ch\nINFO server\nBLPOP list 0.01\nRPUSH list x\nBLPOP list 1",
	"itself":      "MULTI\nMONITOR\nEXEC",
}

func TestMonitorShowsWhatRedisShows(t *testing.T) {
	redis := prototest.StartRedis(t)
	for _, shards := range []int{1, 3} {
		n := prototest.StartNode(t, shards)
		for name, script := range monitorScripts {
			if want, got := monitored(t, redis, script), monitored(t, n.Addr, script); want != got {
				t.Errorf("%s, %d shards:\n%s", name, shards, prototest.Difference(want, got))
			}
		}
	}
	n := prototest.StartNode(t, 1)
	prototest.InBoth(t, n.Addr, redis, "refused", "MONITOR x\nMULTI\nMONITOR\nPING\nEXEC")
}

// A monitoring client sees its own commands, after their replies. RESET ends monitoring.
func TestWhoMonitorsMayGoOn(t *testing.T) {
	redis := prototest.StartRedis(t)
	n := prototest.StartNode(t, 1)
	for _, proto := range []string{"2", "3"} {
		var said [2]string
		for i, addr := range []string{redis, n.Addr} {
			c := prototest.Dial(t, addr)
			prototest.Do(t, c, "HELLO", proto)
			prototest.Do(t, c, "MONITOR")
			var b strings.Builder
			b.WriteString(prototest.Do(t, c, "SET", "a", "1") + "\n")
			for _, args := range [][]string{{"PING"}, {"ECHO", "y"}} {
				b.WriteString(prototest.Do(t, c, args...) + "\n")
				v, err := c.Read()
				if err != nil {
					t.Fatal(err)
				}
				b.WriteString(monitorMarks.ReplaceAllString(v.String(), "<line $1>") + "\n")
			}
			b.WriteString(prototest.Do(t, c, "RESET") + "\n")
			b.WriteString(prototest.Do(t, c, "PING") + "\n" + prototest.Do(t, c, "PING", "x"))
			said[i] = b.String()
		}
		if said[0] != said[1] {
			t.Errorf("RESP%s:\n%s", proto, prototest.Difference(said[0], said[1]))
		}
	}
}

// A monitor that does not read is cut off at the output limit and delays no other client. A monitor
// that reads loses nothing.
func TestASlowMonitorIsCutOff(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.NormalOutput.HardBytes = 1 << 20 })
	slow, err := net.Dial("tcp", n.Addr)
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
	c := prototest.Dial(t, n.Addr)
	value := strings.Repeat("x", 1<<20)
	prototest.Until(t, "the monitor is cut off", func() bool {
		prototest.Do(t, c, "SET", "a", value)
		return n.Registry.Len() == 1
	})
	if got := prototest.Do(t, c, "PING"); got != "+PONG" {
		t.Error(got)
	}
	if n.Stats.OutputClosed.Load() != 1 {
		t.Errorf("%d connections were closed for their output", n.Stats.OutputClosed.Load())
	}
}

// A monitor sees all commands of several clients, in the order of each client.
func TestMonitorSeesAllClients(t *testing.T) {
	n := prototest.StartNode(t, 1)
	m := prototest.Dial(t, n.Addr)
	prototest.Do(t, m, "MONITOR")
	const clients, each = 4, 200
	for i := range clients {
		c := prototest.Dial(t, n.Addr)
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
