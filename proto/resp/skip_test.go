package resp

import "testing"

func TestSkipFindsTheEndOfAReply(t *testing.T) {
	for _, reply := range []string{
		"+OK\r\n", "-ERR x\r\n", ":1\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n", "*-1\r\n", "*0\r\n", "*2\r\n:1\r\n$1\r\na\r\n",
		"_\r\n", "#t\r\n", ",1.5\r\n", "%1\r\n+a\r\n*1\r\n:1\r\n", "~1\r\n:1\r\n", "=7\r\ntxt:abc\r\n", "*1\r\n*1\r\n*1\r\n%0\r\n",
	} {
		if n := Skip([]byte(reply + "+next\r\n")); n != len(reply) {
			t.Errorf("%q: %d, want %d", reply, n, len(reply))
		}
	}
}
