package main

import "fmt"

// largeSets measures commands over two inputs of 100,000 elements each, half of them common to
// both; then the same on several pairs of keys at once, which can overlap if commands on different
// keys run in parallel.
func largeSets(b *bench) error {
	const elements, pairs, target = 100_000, 4, 0.5
	redis, ours, end, err := b.pair()
	if err != nil {
		return err
	}
	defer end()
	key := func(pair int, name string) string { return fmt.Sprintf("{pair%d}%s", pair, name) }
	for _, s := range []*server{redis, ours} {
		for pair := range pairs {
			for _, k := range []kind{setKind, zsetKind} {
				if err := k.fill(s, key(pair, k.name+" a"), elements, 0); err != nil {
					return err
				}
				if err := k.fill(s, key(pair, k.name+" b"), elements, elements/2); err != nil {
					return err
				}
			}
		}
	}
	for _, l := range []struct {
		name string
		args func(pair int) []string
	}{
		{"SINTER", func(p int) []string { return []string{"SINTER", key(p, "set a"), key(p, "set b")} }},
		{"ZUNIONSTORE", func(p int) []string {
			return []string{"ZUNIONSTORE", key(p, "union"), "2", key(p, "sorted set a"), key(p, "sorted set b")}
		}},
	} {
		name := fmt.Sprintf("%s, two inputs of %d", l.name, elements)
		batch := func(dst []byte, c, _ int) ([]byte, int, int) { return appendCommand(dst, l.args(c)...), 1, 1 }
		alone := b.row(row{name: name + ", 1 client", unit: "req/s", higher: true, target: target})
		overlapping := b.row(row{name: fmt.Sprintf("%s, %d clients on pairs of their own", name, pairs), unit: "req/s", higher: true, target: target})
		for _, c := range []struct {
			row     *row
			clients int
		}{{alone, 1}, {overlapping, pairs}} {
			err := b.beside(c.row, redis, ours, func(s *server) (float64, error) {
				res, err := load{c.clients, b.seconds(4), batch}.run(s.addr())
				if err == nil && res.errors > 0 {
					err = fmt.Errorf("%d error replies", res.errors)
				}
				return res.rps, err
			})
			if err != nil {
				return err
			}
		}
		overlapping.note = fmt.Sprintf("of one client: Redis %.2f times, ours %.2f times",
			overlapping.redis.median()/alone.redis.median(), overlapping.ours.median()/alone.ours.median())
	}
	return nil
}
