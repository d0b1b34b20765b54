package server_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// endless is the length of a line that is too long however it arrives. If a line is only a little
// longer than 64 KiB, redis-server refuses it only if a read ends within it.
const endless = 1 << 20

// hostile is input that no client library sends.
var hostile = map[string]string{
	"empty lines":                "\r\n\n\r\n",
	"inline":                     "SET a 1\r\nGET a\nGET  \t a  \r\n",
	"inline, quoted":             `SET "a b" '\x41'` + "\r\n" + `GET "a b"` + "\r\n" + `SET q "\x41\n\t\"\z"` + "\r\nGET q\r\n" + `SET q 'it\'s'` + "\r\nGET q\r\n" + `SET q "\x4"` + "\r\nGET q\r\n",
	"inline, empty argument":     `SET e ""` + "\r\nGET e\r\n",
	"inline, open quote":         "PING\r\nSET a \"b\r\nPING\r\n",
	"inline, quote then letter":  `SET a "b"c` + "\r\n",
	"inline, letter then quote":  `SET a b"c"` + "\r\nGET a\r\n",
	"inline, open single":        "SET a 'b\r\n",
	"inline, nothing quoted":     `""` + "\r\n",
	"inline, upper bits":         "SET \xff\xfe \x80\r\nGET \xff\xfe\r\n",
	"inline, too long":           "PING\r\n" + strings.Repeat("x", endless),
	"inline, cr within":          "ECHO a\rb\r\n",
	"no count":                   "*\r\nPING\r\n",
	"count is no number":         "PING\r\n*a\r\n",
	"count with plus":            "*+1\r\n$4\r\nPING\r\n",
	"count with zero":            "*01\r\n$4\r\nPING\r\n",
	"count is minus zero":        "*-0\r\n",
	"count is zero":              "*0\r\n*1\r\n$4\r\nPING\r\n",
	"count is minus one":         "*-1\r\n*1\r\n$4\r\nPING\r\n",
	"count is far below zero":    "*-9223372036854775808\r\n*1\r\n$4\r\nPING\r\n",
	"count is 2^31":              "*2147483648\r\n",
	"count is 2^63-1":            "*9223372036854775807\r\n",
	"count is 2^63":              "*9223372036854775808\r\n",
	"count is endless":           "*" + strings.Repeat("1", endless),
	"count ends in lf":           "*1\n$4\r\nPING\r\n",
	"count ends in cr and else":  "*1\rx$4\r\nPING\r\n",
	"bulk is no bulk":            "*1\r\n:4\r\nPING\r\n",
	"bulk is an inline":          "*2\r\nPING\r\n\r\n",
	"bulk begins with cr":        "*1\r\n\r\n\r\n",
	"bulk begins with a high":    "*1\r\n\xff4\r\n",
	"bulk without length":        "*1\r\n$\r\n",
	"bulk length is no number":   "*1\r\n$x\r\n",
	"bulk length is minus one":   "*1\r\n$-1\r\n",
	"bulk length is -2":          "*1\r\n$-2\r\n",
	"bulk length is 2^63-1":      "*1\r\n$9223372036854775807\r\n",
	"bulk length above the most": "*1\r\n$536870913\r\n",
	"bulk length with zero":      "*1\r\n$04\r\nPING\r\n",
	"bulk length is endless":     "*1\r\n$" + strings.Repeat("1", endless),
	"bulk of nothing is endless": "*1\r\n" + strings.Repeat("a", endless),
	"bulk longer than said":      "*1\r\n$4\r\nPINGPONG\r\n",
	"bulk ends otherwise":        "*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n",
	"answers come first":         "PING\r\nPING\r\n*1\r\n$a\r\nPING\r\n",
	"http post":                  "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"post as an array":           "*1\r\n$4\r\npost\r\n",
	"host as an array":           "*2\r\n$5\r\nHOST:\r\n$1\r\na\r\n",
	"empty name":                 "*1\r\n$0\r\n\r\n",
	"name with line ends":        "*1\r\n$6\r\na\r\nb\r\n\r\n",
	"long name":                  "*2\r\n$300\r\n" + strings.Repeat("n", 300) + "\r\n$3\r\nabc\r\n",
	"many arguments, unknown":    string(respconn.Command(append([]string{"nothing"}, strings.Split(strings.Repeat("argument ", 40), " ")...)...)),
	"binary arguments, unknown":  "*3\r\n$3\r\nx\x00y\r\n$3\r\na\x00b\r\n$2\r\n\xff\xfe\r\n",
	"quit":                       "PING\r\nQUIT\r\nPING\r\n",
	"quit with arguments":        "QUIT now\r\nPING\r\n",
}

func TestHostileInputGetsRedissAnswers(t *testing.T) {
	redis := prototest.StartRedis(t)
	ours := prototest.StartNode(t, 1).Addr
	for name, raw := range hostile {
		prototest.Compare(t, ours, redis, name, raw)
	}
}

// strangers is input of clients that have not logged in.
var strangers = map[string]string{
	"a command":               "PING\r\n",
	"an unknown one":          "NOTHING\r\n",
	"a wrong arity":           "GET\r\n",
	"ten arguments":           string(respconn.Command(strings.Fields("DEL 1 2 3 4 5 6 7 8 9")...)),
	"eleven arguments":        string(respconn.Command(strings.Fields("DEL 1 2 3 4 5 6 7 8 9 10")...)),
	"16384 bytes":             string(respconn.Command("ECHO", strings.Repeat("x", 16384))),
	"16385 bytes":             string(respconn.Command("ECHO", strings.Repeat("x", 16385))),
	"login, then eleven":      string(respconn.Command("AUTH", "secret")) + string(respconn.Command(strings.Fields("DEL 1 2 3 4 5 6 7 8 9 10")...)),
	"login, then 16385 bytes": string(respconn.Command("AUTH", "secret")) + string(respconn.Command("STRLEN", strings.Repeat("x", 16385))),
	"hello with login":        string(respconn.Command("HELLO", "3", "AUTH", "default", "secret")) + string(respconn.Command(strings.Fields("DEL 1 2 3 4 5 6 7 8 9 10")...)),
	"hello without":           string(respconn.Command("HELLO", "3")),
	"wrong password":          string(respconn.Command("AUTH", "wrong")) + string(respconn.Command("AUTH", "nobody", "secret")) + "PING\r\n",
	"reset logs out":          "AUTH secret\r\nPING\r\nRESET\r\nPING\r\n",
	"multi":                   "MULTI\r\nAUTH secret\r\nMULTI\r\nEXEC\r\n",
	"exec":                    "EXEC\r\n",
	"quit":                    "QUIT\r\n",
	"unknown, as an exec":     "AUTH a b c\r\nAUTH\r\n",
	"post":                    "POST\r\n",
	"long line":               "ECHO " + strings.Repeat("x", 20000) + "\r\n",
	"config":                  "CONFIG GET requirepass\r\nCONFIG NOTHING\r\n",
}

func TestStrangersAreToldWhatRedisTellsThem(t *testing.T) {
	redis := prototest.StartRedis(t, "--requirepass", "secret")
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.RequirePass = "secret" })
	for name, raw := range strangers {
		prototest.Compare(t, n.Addr, redis, name, raw)
	}
}

func TestCommandsAreWholeWhereverTheBytesAreCut(t *testing.T) {
	n := prototest.StartNode(t, 1)
	var raw []byte
	for i := range 20 {
		raw = respconn.AppendCommand(raw, "SET", fmt.Sprint("key", i), strings.Repeat("v", i*37))
		raw = append(raw, fmt.Sprintf("STRLEN key%d\r\n*0\r\n", i)...)
	}
	c := prototest.Dial(t, n.Addr)
	go func() {
		for len(raw) > 0 {
			size := min(len(raw), 1+len(raw)%7)
			if c.Write(raw[:size]) != nil {
				return
			}
			raw = raw[size:]
		}
	}()
	for i := range 20 {
		for _, want := range []string{"+OK", fmt.Sprint(":", i*37)} {
			v, err := c.Read()
			if err != nil || v.String() != want {
				t.Fatalf("%d: %v, %v; want %s", i, v, err, want)
			}
		}
	}
}
