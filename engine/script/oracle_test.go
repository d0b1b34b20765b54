package script_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/reply"
	"lockstep/engine/script"
	"lockstep/tests/kit/oracle"
)

// redisServer is a server to compare with.
type redisServer struct{ *oracle.Server }

func startOracle(t testing.TB) redisServer {
	t.Helper()
	return redisServer{oracle.Start(t)}
}

func (o redisServer) exec(args ...string) []byte { return o.Exec(byteList(args)...) }

// compareCorpus runs each text of a file on both sides, in both protocols, each time with empty
// servers. A line "! reason" says that the replies to the text in the next line differ, and why.
func compareCorpus(t *testing.T, path string, answer func(o redisServer, e *script.Interpreters, h *scriptcmd.Host, proto int, source string) (want, got []byte)) {
	t.Helper()
	o := startOracle(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same, differing := 0, 0
	for _, proto := range []int{reply.RESP2, reply.RESP3} {
		o.exec("HELLO", strconv.Itoa(proto))
		o.exec("FLUSHALL")
		var e script.Interpreters
		h := newHost()
		differs := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if reason, ok := strings.CutPrefix(line, "! "); ok {
				differs = reason
				continue
			}
			if line == "" {
				continue
			}
			want, got := answer(o, &e, h, proto, strings.ReplaceAll(line, `\N`, "\n"))
			if equal := bytes.Equal(got, want); equal == (differs != "") {
				t.Errorf("RESP%d %s (noted: %q)\n got %q\nwant %q", proto, line, differs, got, want)
			} else if equal {
				same++
			} else {
				differing++
			}
			differs = ""
		}
	}
	t.Logf("%d replies are equal, %d differ for a reason that is noted", same, differing)
}

// TestScriptsAnswerAsRedisAnswers runs scripts on both sides.
func TestScriptsAnswerAsRedisAnswers(t *testing.T) {
	compareCorpus(t, "testdata/scripts.txt", func(o redisServer, e *script.Interpreters, h *scriptcmd.Host, proto int, source string) (want, got []byte) {
		want = o.exec("EVAL", source, "2", "k1", "k2", "a1", "a2")
		return want, eval(t, e, h, proto, &script.DefaultLimits, source, []string{"k1", "k2"}, []string{"a1", "a2"})
	})
}
