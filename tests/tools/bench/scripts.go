package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

const (
	// keyLocking is the first line of a script here; redis-server does not know the flag.
	keyLocking = "#!lua flags=allow-key-locking\n"
	// limited counts up to a limit, with two calls.
	limited = "local n = tonumber(redis.call('get', KEYS[1]) or '0') if n >= tonumber(ARGV[1]) then return -1 end return redis.call('incr', KEYS[1])"
	// release releases a lock that the caller still holds.
	release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	// slow takes some milliseconds, and writes its own key.
	slow = "local n = 0 for i = 1, 200000 do n = n + i % 7 end return redis.call('set', KEYS[1], n)"

	limitedLibrary = "#!lua name=bench\nredis.register_function{function_name='limited', flags={%s}, callback=function(keys, args) " +
		"local n = tonumber(redis.call('get', keys[1]) or '0') if n >= tonumber(args[1]) then return -1 end return redis.call('incr', keys[1]) end}"
)

// scriptLoad is a load of scripts. With flagged they lock only their keys on our side.
type scriptLoad struct {
	name    string
	flagged bool
	target  float64
	// batch appends the commands for a key; program is the script's text, or its SHA1.
	batch func(dst []byte, program, key string) (out []byte, requests int)
	text  string
	oneKey,
	bySHA bool
}

func evalBatch(dst []byte, program, key string) ([]byte, int) {
	return appendCommand(dst, "EVAL", program, "1", key, "1000000000"), 1
}

func releaseBatch(dst []byte, program, key string) ([]byte, int) {
	dst = appendCommand(dst, "SET", key, "token")
	return appendCommand(dst, "EVALSHA", program, "1", key, "token"), 2
}

func fcallBatch(dst []byte, _, key string) ([]byte, int) {
	return appendCommand(dst, "FCALL", "limited", "1", key, "1000000000"), 1
}

var scriptLoads = []scriptLoad{
	{name: "EVAL of two calls, one key", target: 0.5, batch: evalBatch, text: limited, oneKey: true},
	{name: "EVAL of two calls, 100,000 keys, allow-key-locking", flagged: true, target: 0.5, batch: evalBatch, text: limited},
	{name: "SET and EVALSHA that releases a lock, 100,000 keys, allow-key-locking", flagged: true, batch: releaseBatch, text: release, bySHA: true},
	{name: "FCALL of two calls, one key", batch: fcallBatch, oneKey: true},
	{name: "FCALL of two calls, 100,000 keys, allow-key-locking", flagged: true, batch: fcallBatch},
}

// scripts compares EVAL, EVALSHA and FCALL on one node with appendfsync always, and measures the
// effect of slow scripts on reads of other keys.
func scripts(b *bench) error {
	redis, ours, end, err := b.pair()
	if err != nil {
		return err
	}
	defer end()
	const clients = 50
	for _, l := range scriptLoads {
		r := b.row(row{name: fmt.Sprintf("%s, %d clients", l.name, clients), unit: "req/s", higher: true, target: l.target})
		err := b.beside(r, redis, ours, func(s *server) (float64, error) {
			batch, err := l.prepare(s, l.flagged && s == ours)
			if err != nil {
				return 0, err
			}
			res, err := load{clients, b.seconds(3), batch}.run(s.addr())
			if err == nil && res.errors > 0 {
				err = fmt.Errorf("%d errors", res.errors)
			}
			return res.rps, err
		})
		if err != nil {
			return err
		}
	}
	return b.besideSlowScripts(redis, ours)
}

// prepare loads the script or library of the load, and returns its batches.
func (l scriptLoad) prepare(s *server, flagged bool) (func([]byte, int, int) ([]byte, int, int), error) {
	if _, err := one(s.addr(), "FLUSHALL"); err != nil {
		return nil, err
	}
	program, flag := l.text, ""
	if flagged {
		program, flag = keyLocking+l.text, "'allow-key-locking'"
	}
	var err error
	if l.bySHA {
		program, err = one(s.addr(), "SCRIPT", "LOAD", program)
	} else if l.text == "" {
		_, err = one(s.addr(), "FUNCTION", "LOAD", "REPLACE", fmt.Sprintf(limitedLibrary, flag))
	}
	keys := 100_000
	if l.oneKey {
		keys = 1
	}
	return func(dst []byte, _, _ int) ([]byte, int, int) {
		dst, n := l.batch(dst, program, "key:"+strconv.Itoa(rand.IntN(keys)))
		return dst, n, n
	}, err
}

// besideSlowScripts measures the p99 of GET of other keys, quiet and while one client repeats a
// slow script on its own key.
func (b *bench) besideSlowScripts(redis, ours *server) error {
	quiet := b.row(row{name: "p99 of GET, 8 clients, quiet", unit: "ms"})
	noisy := b.row(row{name: "p99 of GET, 8 clients, one client loops a slow script", unit: "ms", note: "ours with allow-key-locking"})
	get := func(dst []byte, _, _ int) ([]byte, int, int) {
		return appendCommand(dst, "GET", "other:"+strconv.Itoa(rand.IntN(1000))), 1, 1
	}
	for range b.rounds {
		for _, s := range []*server{redis, ours} {
			text := slow
			if s == ours {
				text = keyLocking + slow
			}
			q, n, err := b.quietAndNoisy(s, get, func(dst []byte, _, _ int) ([]byte, int, int) {
				return appendCommand(dst, "EVAL", text, "1", "slow"), 1, 1
			})
			if err != nil {
				return err
			}
			if s == redis {
				quiet.redis, noisy.redis = append(quiet.redis, q), append(noisy.redis, n)
			} else {
				quiet.ours, noisy.ours = append(quiet.ours, q), append(noisy.ours, n)
			}
		}
	}
	return nil
}
