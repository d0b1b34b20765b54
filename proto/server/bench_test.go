package server_test

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

func benchmarkPings(b *testing.B, pipeline int) {
	n := prototest.StartNode(b, 1)
	c := prototest.Dial(b, n.Addr)
	in := bufio.NewReader(c.Net())
	request := bytes.Repeat(respconn.Command("PING"), pipeline)
	answer := make([]byte, len("+PONG\r\n")*pipeline)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Net().Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(in, answer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPing(b *testing.B)           { benchmarkPings(b, 1) }
func BenchmarkPingPipeline16(b *testing.B) { benchmarkPings(b, 16) }
