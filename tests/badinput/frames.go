package badinput

import (
	"math/rand/v2"
	"strings"

	"lockstep/tests/kit/respconn"
)

// frame is input to send, on a connection of its own.
type frame struct {
	name string
	send string
	// open is true if the server waits for more input after this. The test then closes its sending
	// direction, to see the answer.
	open bool
	// differs is the reason why the answer is not compared with redis-server's; want is then the
	// expected answer.
	differs string
	want    []string
}

const (
	maxInt64  = "9223372036854775807"
	inlineMax = 64 << 10
)

// frames are broken in every way that can mislead a reader of RESP.
var frames = []frame{
	{name: "array of 2^63-1", send: "*" + maxInt64 + "\r\n"},
	{name: "array of 2^64", send: "*18446744073709551616\r\n"},
	{name: "array of 2^31", send: "*2147483648\r\n"},
	{name: "array of 2^31-1, and nothing in it", send: "*2147483647\r\n", open: true},
	{name: "array of a million, and one in it", send: "*1000000\r\n$4\r\nPING\r\n", open: true},
	{name: "array of -2^63", send: "*-9223372036854775808\r\nPING\r\n", open: true},
	{name: "array of -1 and 0, then PING", send: "*-1\r\n*0\r\nPING\r\n", open: true},
	{name: "array of hexadecimal", send: "*0x1\r\n$4\r\nPING\r\n"},
	{name: "array of a float", send: "*1.0\r\n$4\r\nPING\r\n"},
	{name: "array with a leading zero", send: "*01\r\n$4\r\nPING\r\n"},
	{name: "array with a trailing blank", send: "*1 \r\n$4\r\nPING\r\n"},
	{name: "bulk of 2^63-1", send: "*1\r\n$" + maxInt64 + "\r\n"},
	{name: "bulk of 2^64", send: "*1\r\n$18446744073709551616\r\n"},
	{name: "bulk of -1", send: "*2\r\n$3\r\nGET\r\n$-1\r\n"},
	{name: "bulk of -2^63", send: "*1\r\n$-9223372036854775808\r\n"},
	{name: "bulk with a sign", send: "*1\r\n$+4\r\nPING\r\n"},
	{name: "bulk of nothing", send: "*1\r\n$\r\nPING\r\n"},
	{name: "bulk longer than it says", send: "*1\r\n$4\r\nPINGPONG\r\n", open: true},
	{name: "bulk shorter than it says", send: "*1\r\n$6\r\nPING\r\nPING\r\n", open: true},
	{name: "bulk without its line end", send: "*1\r\n$4\r\nPING", open: true},
	{name: "empty bulk as a command", send: "*1\r\n$0\r\n\r\n", open: true},
	{name: "RESP3 map as a command", send: "%1\r\n+a\r\n+b\r\n", open: true},
	{name: "simple string as a command", send: "+PING\r\n", open: true},
	{name: "integer as a command", send: ":1\r\n", open: true},
	{name: "array in an array", send: "*1\r\n*1\r\n$4\r\nPING\r\n"},
	{name: "null in an array", send: "*1\r\n_\r\n"},
	{name: "a command without its end", send: "*2\r\n$3\r\nGE", open: true},
	{name: "an inline command without its end", send: "PIN", open: true},
	{name: "inline command of 64 KB", send: "ECHO " + strings.Repeat("a", inlineMax-1024) + "\r\n", open: true},
	{name: "inline command without end", send: strings.Repeat("a", inlineMax+1)},
	{name: "inline command without end, after a PING", send: "PING\r\n" + strings.Repeat("a", 2*inlineMax)},
	{name: "count without end", send: "*" + strings.Repeat("1", inlineMax+1)},
	{name: "length without end", send: "*1\r\n$" + strings.Repeat("1", inlineMax+1)},
	{name: "unbalanced quote", send: "SET a \"b\r\n"},
	{name: "text behind a quote", send: "SET a \"b\"c\r\n"},
	{name: "unbalanced single quote", send: "SET a 'b\r\n"},
	{name: "HTTP POST", send: "POST /set/a/b HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"},
	{
		name: "HTTP GET", send: "GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
		differs: "what stands before the line Host: is answered; Redis throws that answer away",
		want:    []string{"-ERR wrong number of arguments for 'get' command", "(closed)"},
	},
	{name: "host: in lower case", send: "host: x\r\n"},
	{name: "post in lower case", send: "post\r\nPING\r\n"},
	{name: "POST as an array", send: "*1\r\n$4\r\nPOST\r\nPING\r\n"},
	{
		name: "TLS hello", send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n", open: true,
		differs: "Redis's search for the end of the line stops at the zero byte; it waits for ever. Here it is known for what it is, and the log says so",
		want:    []string{"(closed)"},
	},
	{name: "a hundred thousand empty lines", send: strings.Repeat("\r\n", 100_000) + "PING\r\n", open: true},
	{name: "a hundred thousand empty arrays", send: strings.Repeat("*0\r\n", 100_000) + "PING\r\n", open: true},
	{name: "unknown commands in a row", send: strings.Repeat("*1\r\n$1\r\n\xff\r\n", 1000), open: true},
	{name: "a thousand arguments", send: "*1001\r\n$6\r\nEXISTS\r\n" + strings.Repeat("$1\r\nk\r\n", 1000), open: true},
	{name: "a command of a hundred thousand arguments", send: "*100001\r\n$3\r\nDEL\r\n" + strings.Repeat("$1\r\nk\r\n", 100_000), open: true},
	{name: "a good command before a broken one", send: "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n*1\r\n$x\r\n"},
	{name: "MULTI, then a broken frame", send: "MULTI\r\nSET k v\r\n*1\r\nx\r\n"},
	{name: "EXEC of nothing", send: "EXEC\r\n", open: true},
}

// unauthenticatedFrames are for a server with a password.
var unauthenticatedFrames = []frame{
	{name: "ten arguments", send: "*10\r\n" + strings.Repeat("$1\r\na\r\n", 10), open: true},
	{name: "eleven arguments", send: "*11\r\n"},
	{name: "a bulk of 16 KB", send: "*2\r\n$4\r\nAUTH\r\n$16384\r\n" + strings.Repeat("x", 16384) + "\r\n", open: true},
	{name: "a bulk of 16 KB and a byte", send: "*2\r\n$4\r\nAUTH\r\n$16385\r\n"},
	{name: "commands", send: "PING\r\nGET a\r\nSET a b\r\nNOSUCH\r\nMULTI\r\nEXEC\r\nCOMMAND\r\nINFO\r\nCLIENT ID\r\nRESET\r\n", open: true},
	{name: "arity", send: "GET\r\n", open: true},
	{name: "wrong passwords", send: "AUTH x\r\nAUTH default x\r\nAUTH nobody secret\r\nHELLO 3 AUTH default x\r\n", open: true},
	{name: "HELLO", send: "HELLO\r\nHELLO 3\r\n", open: true},
	{name: "the password", send: "AUTH secret\r\nPING\r\nAUTH x\r\nPING\r\n", open: true},
	{name: "the password of the user default", send: "AUTH default secret\r\nPING\r\nRESET\r\nPING\r\n", open: true},
	{name: "QUIT", send: "QUIT\r\n"},
	{name: "limits end with the password", send: "AUTH secret\r\n" + string(respconn.Command(strings.Fields("EXISTS a b c d e f g h i j k l")...)), open: true},
}

// junk returns n random bytes; some of them have a meaning in RESP.
func junk(r *rand.Rand, n int) []byte {
	const telling = "*$+-:%~_#,(=!>\r\n\r\n0123456789 \"'"
	b := make([]byte, n)
	for i := range b {
		if r.IntN(2) == 0 {
			b[i] = telling[r.IntN(len(telling))]
		} else {
			b[i] = byte(r.IntN(256))
		}
	}
	return b
}

// render returns the replies and how the connection ended, one string each.
func render(replies []respconn.Value, err error) []string {
	var out []string
	for _, v := range replies {
		out = append(out, v.String())
	}
	if err != nil {
		return append(out, "(open)")
	}
	return append(out, "(closed)")
}
