package badinput

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"lockstep/tests/kit/respconn"
)

// commandRow is what COMMAND says about a command, as far as the sweep needs it.
type commandRow struct {
	arity    int
	blocking bool
}

// allows reports whether n arguments, the name included, are a valid number.
func (r commandRow) allows(n int) bool { return n == r.arity || r.arity < 0 && n >= -r.arity }

// commandTable asks for the table, with subcommands as "parent|sub".
func commandTable(c *respconn.Conn) (map[string]commandRow, error) {
	v, err := c.Do("COMMAND")
	if err != nil || v.IsError() {
		return nil, fmt.Errorf("COMMAND: %v, %w", v, err)
	}
	rows := map[string]commandRow{}
	return rows, addCommandRows(rows, v.Elems)
}

func addCommandRows(rows map[string]commandRow, all []respconn.Value) error {
	const fields, flags, subcommands = 10, 2, 9
	for _, v := range all {
		if len(v.Elems) != fields {
			return fmt.Errorf("a row of %d fields: %v", len(v.Elems), v)
		}
		arity, err := strconv.Atoi(string(v.Elems[1].Bytes))
		if err != nil {
			return err
		}
		row := commandRow{arity: arity}
		for _, f := range v.Elems[flags].Elems {
			row.blocking = row.blocking || string(f.Bytes) == "blocking"
		}
		rows[string(v.Elems[0].Bytes)] = row
		if err := addCommandRows(rows, v.Elems[subcommands].Elems); err != nil {
			return err
		}
	}
	return nil
}

// hostile are values that code for numbers, lengths, names and patterns may mishandle.
var hostile = []string{
	"", "0", "-1", "9000000000000000000", "-9000000000000000000", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
	"18446744073709551615", "4294967296", "-2147483649", "1e400", "-1e400", "1e-400", "nan", "-nan", "inf", "-inf", "+5", " 5", "5 ", "0x10", "1.5", "1e3", "01",
	strings.Repeat("9", 300), "0." + strings.Repeat("3", 300), "\xff\xfe", "\x00", "5\x00", "\r\n", "*[", "(", "[", "9223372036854775807-9223372036854775807",
	"18446744073709551615-18446744073709551615", "$", ">", "#",
}

// variant is an invalid version of a command.
type variant struct {
	args []string
	// at is the place of the hostile value, or 0 if there is none.
	at int
}

func (v variant) String() string {
	words := make([]string, len(v.args))
	for i, a := range v.args {
		if len(a) > 60 {
			a = a[:60] + "..."
		}
		words[i] = respconn.Quote([]byte(a))
	}
	return strings.Join(words, " ")
}

// commandName is the name in the table of the command that the arguments call.
func commandName(table map[string]commandRow, args []string) string {
	name := strings.ToLower(args[0])
	if len(args) > 1 {
		if sub := name + "|" + strings.ToLower(args[1]); table[sub] != (commandRow{}) {
			return sub
		}
	}
	return name
}

// wrongArities calls a command with every invalid number of arguments, up to three more than the
// template has.
func wrongArities(row commandRow, words []string) []variant {
	var all []variant
	for n := strings.Count(words[0], "|") + 1; n < len(words)+4; n++ {
		args := append([]string(nil), words[:min(n, len(words))]...)
		for len(args) < n {
			args = append(args, "x")
		}
		if !row.allows(n) {
			all = append(all, variant{args: args})
		}
	}
	return all
}

// variants are the invalid versions of a template. A share of 1 takes every hostile value, a share
// of n about one of n at random.
func variants(row commandRow, template string, share int, r *rand.Rand) []variant {
	words := strings.Fields(template)
	keys := map[int]bool{}
	for i, w := range words {
		if name, ok := strings.CutPrefix(w, "$"); ok {
			keys[i], words[i] = true, name
		}
	}
	all := append([]variant{{args: words}}, wrongArities(row, words)...)
	for n := 1; n <= len(words); n++ { // shortened, also in the middle of its options
		if row.allows(n) {
			all = append(all, variant{args: words[:n]})
		}
	}
	with := func(i int, word string) variant {
		args := append([]string(nil), words...)
		args[i] = word
		return variant{args: args, at: i}
	}
	for i := 1; i < len(words); i++ {
		if keys[i] {
			for _, k := range sweepKeys {
				all = append(all, with(i, k))
			}
		}
		for _, h := range hostile {
			if r.IntN(share) == 0 {
				all = append(all, with(i, h))
			}
		}
	}
	return all
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
