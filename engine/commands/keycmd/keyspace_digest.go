package keycmd

import (
	"bytes"
	"encoding/hex"
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/values"
)

// runDigest answers the digest of this shard's keys for each database, and at the end the digest of
// its functions. Each is in hexadecimal digits, or empty if there is nothing. FoldDigests joins the
// digests of all shards. The result equals Redis's if there are no functions, since Redis leaves
// them out.
func runDigest(c *command.Ctx, _ [][]byte) {
	var sums [engine.Databases]command.Digest
	var filled [engine.Databases]bool
	for db := range sums {
		err := walkAll(c, db, func(e *engine.Entry) bool {
			var d command.Digest
			d.Mix(e.KeyBytes())
			values.MixValue(&d, e)
			sums[db].Xor(d[:])
			filled[db] = true
			return true
		})
		if err != nil {
			failWalk(c, err)
			return
		}
	}
	c.Out.Array(len(sums) + 1)
	for db := range sums {
		if filled[db] {
			c.Out.BulkString(sums[db].String())
		} else {
			c.Out.BulkString("")
		}
	}
	c.Out.BulkString(digestFunctions(c))
}

func digestFunctions(c *command.Ctx) string {
	libraries := c.Programs.Functions.Libraries()
	if len(libraries) == 0 {
		return ""
	}
	var sum command.Digest
	for _, l := range libraries {
		sum.Mix(l.Source)
	}
	return sum.String()
}

// FoldDigests is the digest of all databases. Each shard has digested its own part: shards[i][db]
// is the reply of shard i for a database.
func FoldDigests(shards [][][]byte) string {
	var sum command.Digest
	for db := range engine.Databases {
		var keys command.Digest
		filled := false
		for _, parts := range shards {
			var d command.Digest
			if n, err := hex.Decode(d[:], parts[db]); err != nil || n == 0 {
				continue
			}
			filled = true
			for i := range keys {
				keys[i] ^= d[i]
			}
		}
		if !filled {
			continue
		}
		sum.MixInt(uint32(db))
		for i := range sum {
			sum[i] ^= keys[i]
		}
	}
	foldFunctions(&sum, shards)
	return sum.String()
}

// foldFunctions adds the functions to the digest. It adds them only once if all shards have the
// same ones, as they should.
func foldFunctions(d *command.Digest, shards [][][]byte) {
	first := shards[0][engine.Databases]
	same := !slices.ContainsFunc(shards, func(parts [][]byte) bool { return !bytes.Equal(parts[engine.Databases], first) })
	if same {
		shards = shards[:1]
	}
	for _, parts := range shards {
		if functions := parts[engine.Databases]; !same || len(functions) > 0 {
			d.Mix(functions)
		}
	}
}

// runDigestValue answers the digest of each key's value, and zeros for a missing key.
func runDigestValue(c *command.Ctx, args [][]byte) {
	c.Out.Array(len(args) - 1)
	for _, key := range args[1:] {
		var d command.Digest
		if e := c.KS.Find(c.Slot(key), c.DB, key); e != nil {
			values.MixValue(&d, e)
		}
		c.Out.Status(d.String())
	}
}
