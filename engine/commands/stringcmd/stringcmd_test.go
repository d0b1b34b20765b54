package stringcmd_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// TestFloatsAreRedisFloats adds random decimals in Lockstep and in redis-server, which computes
// with 80-bit floating point numbers, and compares the digits.
func TestFloatsAreRedisFloats(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(5))}
	n := 30_000
	if testing.Short() {
		n = 3000
	}
	for i := range n {
		a, b := g.Decimal(), g.Decimal()
		set, add := [][]byte{[]byte("set"), []byte("k"), []byte(a)}, [][]byte{[]byte("incrbyfloat"), []byte("k"), []byte(b)}
		o.Exec(set...)
		r.Exec(set...)
		if got, want := r.Exec(add...), o.Exec(add...); !bytes.Equal(got, want) {
			t.Fatalf("%d: %q + %q\n got %q\nwant %q", i, a, b, got, want)
		}
	}
}

// TestExtendedRange goes to the limits of the 80-bit format and slightly beyond. It uses
// hexadecimal numbers, which name each bit.
func TestExtendedRange(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for _, text := range []string{
		"0x1.fffffffffffffffep16383", "0x1.ffffffffffffffffp16383", "0x1.fffffffffffffffe8p16383", "0x1.fffffffffffffffefffp16383", "0x1p16384",
		"0x1p-16382", "0x0.8p-16382", "0x1p-16445", "0x1p-16446", "0x1.0001p-16446", "0x1p-16447", "0x0.fffffffffffffffffp-16382",
		"0x1p999999999999999999", "0x1p-999999999999999999", "0x0p999999999999999999", "1e999999999999999999", "-1e-999999999999999999",
		"0x1.00000000000000010001p0", "0x1.00000000000000010000p0", "0x1.00000000000000030000p0",
		"0x" + strings.Repeat("f", 4094), "0x." + strings.Repeat("0", 4000) + "1", strings.Repeat("9", 4932), strings.Repeat("9", 4933),
		"0." + strings.Repeat("0", 4940) + "1", "1" + strings.Repeat("0", 5118), strings.Repeat("0", 5118) + "1", strings.Repeat("0", 5119) + "1",
	} {
		for _, line := range []string{"set k 0", "incrbyfloat k " + text, "set k " + text, "incrbyfloat k 0", "incrbyfloat k -0.1", "incrbyfloat k " + text, "incrbyfloat k -" + text} {
			if got, want := r.Do(line), o.Do(line); got != want {
				t.Errorf("%.60s\n got %.80s\nwant %.80s", line, got, want)
			}
		}
	}
}

// TestValuesHaveABound: the limit on a string's length, a replicated setting, holds for every
// command that makes strings longer. LCS refuses the same calls as Redis.
func TestValuesHaveABound(t *testing.T) {
	r := cmdtest.NewRunner(t)
	if !r.Settings.Set("proto-max-bulk-len", "1000") {
		t.Fatal("the setting is refused")
	}
	long := strings.Repeat("x", 990)
	r.Script(`
		SET k ` + long + ` => +OK
		APPEND k 0123456789 => :1000
		APPEND k 0 => -ERR string exceeds maximum allowed size (proto-max-bulk-len)
		APPEND k "" => :1000
		SETRANGE k 999 x => :1000
		SETRANGE k 1000 x => -ERR string exceeds maximum allowed size (proto-max-bulk-len)
		SETRANGE none 9223372036854775807 x => -ERR string exceeds maximum allowed size (proto-max-bulk-len)
		SETRANGE none 9223372036854775807 "" => :0
		EXISTS none => :0
		MSET a 12345678901234 b 123456789012345 => +OK
		LCS a b LEN => :14
		APPEND a 5678 => :18
		LCS a b => -ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len
		LCS k k LEN => -ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len
	`)
	for _, bad := range [][2]string{{"proto-max-bulk-len", "0"}, {"proto-max-bulk-len", "x"}, {"port", "1"}} {
		if r.Settings.Set(bad[0], bad[1]) {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestLCSAnswersAsRedisDoes compares random pairs of strings of few different letters, long enough
// for many runs.
func TestLCSAnswersAsRedisDoes(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	rng := rand.New(rand.NewSource(9))
	text := func() string {
		b := make([]byte, rng.Intn(60))
		for i := range b {
			b[i] = "abc"[rng.Intn(2+rng.Intn(2))]
		}
		return string(b)
	}
	for range 2000 {
		mset := [][]byte{[]byte("mset"), []byte("a"), []byte(text()), []byte("b"), []byte(text())}
		o.Exec(mset...)
		r.Exec(mset...)
		for _, options := range []string{"", " len", " idx", fmt.Sprint(" idx withmatchlen minmatchlen ", rng.Intn(5))} {
			if got, want := r.Do("lcs a b"+options), o.Do("lcs a b"+options); got != want {
				t.Fatalf("lcs%s of %q\n got %s\nwant %s", options, mset, got, want)
			}
		}
	}
}

// TestHandlersCopyWhatTheyKeep overwrites the arguments after each command, as may happen to the
// memory of a log entry. The keys must not change.
func TestHandlersCopyWhatTheyKeep(t *testing.T) {
	r := cmdtest.NewRunner(t)
	for _, line := range []string{
		"SET a valueA", "SET a valueB", "SETNX b valueC", "MSET c valueD d valueE", "APPEND e valueF", "APPEND e valueG", "SETRANGE f 0 valueH",
		"GETSET g valueI", "RENAME g h", "COPY h i", "SETEX j 100 valueJ", "MSETNX k valueK", "INCRBY l 12345", "INCRBYFLOAT m 1.5", "MOVE a 1",
	} {
		args := cmdtest.Words(line)
		r.Exec(args...)
		for _, a := range args {
			for i := range a {
				a[i] = '#'
			}
		}
	}
	r.Script(`
		MGET b c d e f h i j k l m => *11 $6 valueC $6 valueD $6 valueE $12 valueFvalueG $6 valueH $6 valueI $6 valueI $6 valueJ $6 valueK $5 12345 $3 1.5
		select 1 => +OK
		GET a => $6 valueB
	`)
}

// TestConditionsOfValkey tests SET IFEQ (Valkey 8.1) and DELIFEQ (Valkey 9), which redis-server
// does not have.
func TestConditionsOfValkey(t *testing.T) {
	r := cmdtest.NewRunner(t)
	rec := &cmdtest.Recorder{Classes: command.EventString | command.EventGeneric}
	r.Observer = rec
	r.Script(`
		set k new ifeq x => $-1
		exists k => :0
		set k new ifeq x get => $-1
		exists k => :0
		set k 1 => +OK
		set k 2 ifeq 01 => $-1
		set k 2 IFEQ 1 => +OK
		set k 3 ifeq 1 get => $1 2
		get k => $1 2
		set k 3 get ifeq 2 pxat 4000000000123 => $1 2
		pexpiretime k => :4000000000123
		set k 4 ifeq 3 keepttl => +OK
		pexpiretime k => :4000000000123
		set k 5 ifeq 4 => +OK
		pexpiretime k => :-1
		set k 6 ifeq 5 nx => -ERR syntax error
		set k 6 xx ifeq 5 => -ERR syntax error
		set k 6 ifeq 5 ifeq 5 => -ERR syntax error
		set k 6 ifeq => -ERR syntax error
		getex k ifeq 5 => -ERR syntax error
		set k "" ifeq 5 => +OK
		set k x ifeq "" => +OK
		delifeq k y => :0
		delifeq k => -ERR wrong number of arguments for 'delifeq' command
		delifeq k x => :1
		delifeq k x => :0
		exists k => :0
	`)
	want := `0 set "k", 0 set "k", 0 set "k", 0 expire "k", 0 set "k", 0 set "k", 0 set "k", 0 set "k", 0 del "k"`
	if got := strings.Join(rec.Take(), ", "); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	e := engine.NewObject([]byte("l"), engine.KindList, cmdtest.FakeList{})
	r.KS.Put(r.KS.LockSlotOf(e), 0, e, 1)
	r.Script(`
		set l v ifeq x => -WRONGTYPE Operation against a key holding the wrong kind of value
		set l v ifeq x get => -WRONGTYPE Operation against a key holding the wrong kind of value
		delifeq l x => -WRONGTYPE Operation against a key holding the wrong kind of value
		type l => +list
	`)
}

func TestStringsAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	t.Run("RESP2", func(t *testing.T) { cmdtest.Differ(t, reply.RESP2, 1, n, cmdtest.StringCommands) })
	t.Run("RESP3", func(t *testing.T) { cmdtest.Differ(t, reply.RESP3, 2, n, cmdtest.StringCommands) })
}
