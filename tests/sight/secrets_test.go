package sight

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// sesame is a part of every password in this test.
const sesame = "open-Sesame"

// secretly are commands with passwords. Some of them succeed, and others fail.
var secretly = [][]string{
	{"AUTH", sesame + "-1"},
	{"auth", "default", sesame + "-2"},
	{"HELLO", "3", "AUTH", "default", sesame + "-3", "SETNAME", "x"},
	{"HELLO", "2"},
	{"ACL", "SETUSER", "ann", "on", ">" + sesame, "<" + sesame, ">" + sesame},
	{"ACL", "SETUSER", "ann", "#" + hashed(sesame)},
	{"ACL", "SETUSER", "ann", "(" + sesame},
	{"CONFIG", "SET", "masterauth", sesame + "-4"},
	{"CONFIG", "SET", "timeout", "0", "requirepass", sesame + "-5", "no-such", "1"},
	{"MIGRATE", "127.0.0.1", "1", "k", "0", "10", "AUTH", sesame + "-6"},
	{"MIGRATE", "127.0.0.1", "1", "", "0", "10", "AUTH2", "ann", sesame + "-7", "KEYS", "k"},
	{"MULTI"},
	{"CONFIG", "SET", "masterauth", sesame + "-8"},
	{"CONFIG", "SET", "cluster-secret", sesame + "-which-is-no-secret-of-it"},
	{"CONFIG", "SET", "Cluster-Secret", sesame},
	{"ACL", "SETUSER", "ann", ">" + sesame + "-9"},
	{"AUTH", sesame + "-10"},
	{"EXEC"},
	{"AUTHENTICATE", sesame + "-11"},
	{"AUTH", "a", "b", sesame + "-12"},
}

func hashed(password string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(password))) }

// TestSecretsAreShownNowhere: no node shows the passwords of clients, flags and settings in
// MONITOR, SLOWLOG, its log, INFO, its pages, a scrape or a profile.
func TestSecretsAreShownNowhere(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	_, nodes := three(t, "--loglevel", "debug", "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000", "--masterauth", sesame+"-0", "--admin-pprof", "yes",
		"--cluster-secret", sesame+"-is-what-the-nodes-know "+sesame+"-is-what-the-nodes-knew")
	proc.MustAsk(t, nodes[0].Addr(), "SET", "k", "v")
	// A client that connects before a password is set stays connected.
	var ears, mouths []*respconn.Conn
	for _, n := range nodes {
		ear := proc.Dial(t, n.Addr())
		proc.Do(t, ear, "MONITOR")
		ears, mouths = append(ears, ear), append(mouths, proc.Dial(t, n.Addr()))
	}
	shown := map[string]string{}
	for i, n := range nodes {
		ear, mouth := ears[i], mouths[i]
		for _, args := range secretly {
			proc.Do(t, mouth, args...)
		}
		if err := mouth.Write([]byte("auth " + sesame + "-13\r\n")); err != nil {
			t.Fatal(err)
		}
		proc.Read(t, mouth)
		proc.Do(t, mouth, "ECHO", "that is all")
		shown["MONITOR of "+n.Name] = heard(t, ear, "that is all")
		proc.Do(t, mouth, "CONFIG", "SET", "requirepass", sesame)
		for _, args := range [][]string{{"CONFIG", "GET", "cluster-secret"}, {"CONFIG", "GET", "cluster*"}, {"SLOWLOG", "GET", "-1"}, {"INFO", "everything"}, {"CLIENT", "LIST"}, {"ACL", "LOG"}, {"LATENCY", "HISTOGRAM"}, {"LOCKSTEP", "STATUS"}, {"LOCKSTEP", "EXAMINE"}, {"LOCKSTEP", "SUPPORT"}} {
			shown[strings.Join(args, " ")+" of "+n.Name] = proc.Do(t, mouth, args...)
		}
		for _, path := range []string{"/", "/ui/state", "/ui/series", "/metrics", "/readyz?verbose", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
			code, text := n.get(path)
			if code != http.StatusOK {
				t.Errorf("%s of %s is %d", path, n.Name, code)
			}
			shown[path+" of "+n.Name] = text
		}
	}
	for _, n := range nodes {
		shown["log of "+n.Name] = n.Log()
		for _, where := range []string{"MONITOR of ", "SLOWLOG GET -1 of "} {
			if count := strings.Count(shown[where+n.Name], "(redacted)"); count < 8 {
				t.Errorf("%s%s hides %d arguments; has it seen the commands? %.2000s", where, n.Name, count, shown[where+n.Name])
			}
		}
	}
	for where, text := range shown {
		for _, secret := range []string{sesame, hashed(sesame), hashed(sesame + "-9")} {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s has %q: %.300s", where, secret, text[max(0, at-150):])
			}
		}
	}
}

// heard returns all lines up to one that contains end.
func heard(t *testing.T, ear *respconn.Conn, end string) string {
	t.Helper()
	var all strings.Builder
	for {
		line := proc.Read(t, ear)
		all.WriteString(line + "\n")
		if strings.Contains(line, end) {
			return all.String()
		}
	}
}
