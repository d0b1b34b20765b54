package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// onePatience bounds a command that is sent alone: the longest one loads a snapshot of millions of
// elements.
const onePatience = 5 * time.Minute

// one sends a command on its own connection and returns the reply: the bytes of a bulk string, else
// the first line without its type. An error reply is returned as an error.
func one(addr string, args ...string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(onePatience))
	if _, err := conn.Write(appendCommand(nil, args...)); err != nil {
		return "", err
	}
	reply, err := readOne(bufio.NewReaderSize(conn, 64<<10))
	if err != nil {
		return "", fmt.Errorf("%s: %w", args[0], err)
	}
	return reply, nil
}

func readOne(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("an empty line for a reply")
	}
	switch line[0] {
	case '-':
		return "", errors.New(line[1:])
	case '$', '=':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", err
		}
		bulk := make([]byte, n+2)
		if _, err := io.ReadFull(r, bulk); err != nil {
			return "", err
		}
		return string(bulk[:n]), nil
	}
	return line[1:], nil
}

// kind is a type of value, and how to write its elements to a key.
type kind struct {
	name string
	// command adds elements. It is followed by the key, and for each element by what element
	// appends. A stream takes one element per command.
	command string
	element func(args []string, i int) []string
	single  bool
}

func numbered(prefix string, i int) string { return fmt.Sprintf("%s:%012d", prefix, i) }

var (
	listKind = kind{name: "list", command: "RPUSH", element: func(args []string, i int) []string {
		return append(args, numbered("element", i))
	}}
	hashKind = kind{name: "hash", command: "HSET", element: func(args []string, i int) []string {
		return append(args, numbered("element", i), "data")
	}}
	setKind = kind{name: "set", command: "SADD", element: func(args []string, i int) []string {
		return append(args, numbered("element", i))
	}}
	zsetKind = kind{name: "sorted set", command: "ZADD", element: func(args []string, i int) []string {
		return append(args, strconv.Itoa(i), numbered("element", i))
	}}
	streamKind = kind{name: "stream", command: "XADD", single: true, element: func(args []string, i int) []string {
		return append(args, "*", "field", numbered("element", i))
	}}
)

// fillKeys writes keys with elements elements each. key returns the k-th name, and from is the
// number of the first element.
func (k kind) fillKeys(s *server, keys, elements, from int, key func(k int) string) error {
	const perCommandMax, perBatch = 100, 10
	perCommand := min(perCommandMax, elements)
	if k.single {
		perCommand = 1
	}
	commands := (elements + perCommand - 1) / perCommand * keys
	l := load{clients: 1}
	l.batch = func(dst []byte, _, batch int) ([]byte, int, int) {
		n := 0
		for c := batch * perBatch; c < min((batch+1)*perBatch, commands); c++ {
			first := c / keys * perCommand
			args := []string{k.command, key(c % keys)}
			for i := first; i < min(first+perCommand, elements); i++ {
				args = k.element(args, from+i)
			}
			dst = appendCommand(dst, args...)
			n++
		}
		return dst, n, n
	}
	return l.runBatches(s.addr(), (commands+perBatch-1)/perBatch)
}

// fill writes one key.
func (k kind) fill(s *server, key string, elements, from int) error {
	return k.fillKeys(s, 1, elements, from, func(int) string { return key })
}

// beside runs f against both servers, round after round, and stores the figures in r.
func (b *bench) beside(r *row, redis, ours *server, f func(s *server) (float64, error)) error {
	for range b.rounds {
		for _, s := range []*server{redis, ours} {
			figure, err := f(s)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", s.name, r.name, err)
			}
			r.add(s, figure)
		}
	}
	return nil
}

// pair starts redis-server with fsync always, and one node.
func (b *bench) pair(extra ...string) (redis, ours *server, end func(), err error) {
	if redis, err = b.redis(durable...); err != nil {
		return nil, nil, nil, err
	}
	all, err := b.cluster(1, defaultStore, extra...)
	end = func() { redis.kill(); killAll(all) }
	if err != nil {
		end()
		return nil, nil, nil, err
	}
	return redis, all[0], end, nil
}
