package main

import "fmt"

// keyLoad is a command on one key, as redis-benchmark sends it.
type keyLoad struct {
	name string
	// what holds the arguments of redis-benchmark: -t and its own test, or a command.
	what []string
	// before, if it has a name, is the kind of the key when the load begins. The key has one
	// element per request if drains is set, else elementsBefore.
	before kind
	key    string
	drains bool
}

const elementsBefore = 100_000

var keyLoads = []keyLoad{
	{name: "LPUSH", what: []string{"-t", "lpush"}},
	{name: "LPOP", what: []string{"-t", "lpop"}, before: listKind, key: "mylist", drains: true},
	{name: "LRANGE_100", what: []string{"LRANGE", "mylist", "0", "99"}, before: listKind, key: "mylist"},
	{name: "HSET", what: []string{"-t", "hset"}},
	{name: "HGET", what: []string{"HGET", "myhash", "element:__rand_int__"}, before: hashKind, key: "myhash"},
	{name: "SADD", what: []string{"-t", "sadd"}},
	{name: "SPOP", what: []string{"-t", "spop"}, before: setKind, key: "myset", drains: true},
	{name: "ZADD", what: []string{"-t", "zadd"}},
	{name: "ZPOPMIN", what: []string{"-t", "zpopmin"}, before: zsetKind, key: "myzset", drains: true},
	{name: "ZRANGE_100", what: []string{"ZRANGE", "myzset", "0", "99"}, before: zsetKind, key: "myzset"},
	{name: "XADD", what: []string{"XADD", "mystream", "*", "field", "data"}},
}

// collections compares commands on one list, hash, set, sorted set and stream of one node with
// appendfsync always.
func collections(b *bench) error {
	redis, ours, end, err := b.pair()
	if err != nil {
		return err
	}
	defer end()
	const clients, target = 50, 0.7
	for _, l := range keyLoads {
		for _, p := range []struct{ pipeline, n int }{{1, 100_000}, {16, 400_000}} {
			r := b.row(row{name: fmt.Sprintf("%s, one key, %d clients, pipeline %d", l.name, clients, p.pipeline), unit: "req/s", higher: true, target: target})
			err := b.beside(r, redis, ours, func(s *server) (float64, error) {
				if err := l.prepare(s, b.n(p.n)); err != nil {
					return 0, err
				}
				rps, _, err := redisBenchmarkOf(s, b.n(p.n), clients, p.pipeline, l.what...)
				return rps, err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare empties the server and writes the keys for the load.
func (l keyLoad) prepare(s *server, requests int) error {
	if _, err := one(s.addr(), "FLUSHALL"); err != nil {
		return err
	}
	switch {
	case l.before.name == "":
		return nil
	case l.drains:
		return l.before.fill(s, l.key, requests, 0)
	}
	return l.before.fill(s, l.key, elementsBefore, 0)
}
