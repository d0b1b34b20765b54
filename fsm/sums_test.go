package fsm

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func sumOf(source []byte) []byte {
	sum := sha1.Sum(source)
	return sum[:]
}

// bySum is a call of EVAL that names its script by its SHA1.
func bySum(source string, args ...string) Txn {
	t := txnOf(0, append([]string{"eval", source}, args...)...)
	t.Ops[0].Sum = sumOf([]byte(source))
	return t
}

const counts = "return redis.call('incr', KEYS[1])"

// repliesOf applies bundles as one entry and returns all replies, each with its outcome.
func (m *lockedMachine) repliesOf(bundles ...Bundle) []string {
	m.t.Helper()
	m.index++
	if err := m.Apply(m.index, entryOf(m.index, bundles...)); err != nil {
		m.t.Fatal(err)
	}
	m.executed(m.index)
	m.replies.mu.Lock()
	defer m.replies.mu.Unlock()
	got := m.replies.replies[EntryID{1, 1, m.index}]
	list := make([]string, len(got))
	for i := range list {
		list[i] = got[i]
	}
	return list
}

func (m *lockedMachine) answers(want []string, bundles ...Bundle) {
	m.t.Helper()
	if got := m.repliesOf(bundles...); !slices.Equal(got, want) {
		m.t.Errorf("got %q, want %q", got, want)
	}
}

func bundleOf(lane uint32, seq uint64, txns ...Txn) Bundle {
	return Bundle{Origin: Origin{Node: 5, Boot: 1, Lane: lane}, FirstSeq: seq, Txns: txns}
}

// TestAScriptIsNamedByItsSum: the text is not sent, and the call has the same effect as with the
// text.
func TestAScriptIsNamedByItsSum(t *testing.T) {
	m := newLockedMachine(t)
	long := counts + fmt.Sprintf(" -- %0900d", 7)
	m.answers([]string{"0 :1\r\n"}, bundleOf(0, 0, txnOf(0, "eval", long, "1", "n")))
	b := bundleOf(0, 1, bySum(long, "1", "n"))
	if n := len(AppendBundle(nil, &b)); n > 100 || TxnSize(&b.Txns[0]) > 60 {
		t.Errorf("%d bytes, %d as it says", n, TxnSize(&b.Txns[0]))
	}
	m.answers([]string{"0 :2\r\n"}, b)
	failing := "return redis.call('lpush', KEYS[1], 1)"
	text := m.repliesOf(bundleOf(0, 2, txnOf(0, "eval", failing, "1", "n")))
	m.answers(text, bundleOf(0, 3, bySum(failing, "1", "n")))
	exec := Txn{Kind: KindExec, Proto: 2, Ops: []Op{bySum(long, "1", "n").Ops[0], txnOf(0, "get", "n").Ops[0]}}
	m.answers([]string{"0 *2\r\n:3\r\n$1\r\n3\r\n"}, bundleOf(0, 4, exec))
}

// TestWithoutTheScriptNothingRuns: neither the call nor the txns behind it in its bundle run, now
// or when they are retried, here or after a snapshot. Other txns of the entry do. With the text the
// call runs, under another identity.
func TestWithoutTheScriptNothingRuns(t *testing.T) {
	m := newLockedMachine(t)
	m.repliesOf(bundleOf(0, 0, txnOf(0, "eval", counts, "1", "n")))
	pipeline := bundleOf(1, 0, txnOf(0, "set", "first", "1"), bySum(counts, "1", "n"), txnOf(0, "set", "behind", "1"), txnOf(0, "script", "load", "return 'behind'"))
	const gone = "3 "
	before := m.TxnNo()
	m.answers([]string{"0 +OK\r\n", "0 +OK\r\n", gone, gone, gone, "0 +OK\r\n"},
		bundleOf(0, 1, txnOf(0, "script", "flush")), pipeline, bundleOf(2, 0, txnOf(0, "set", "beside", "1")))
	if n := m.TxnNo() - before; n != 3 {
		t.Errorf("%d txns ran, not 3", n)
	}
	for key, want := range map[string]string{"n": "$1\r\n1\r\n", "first": "$1\r\n1\r\n", "behind": "$-1\r\n", "beside": "$1\r\n1\r\n"} {
		if got := readText(t, m.Machine, "get", key); got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
	again := []string{"0 +OK\r\n", gone, gone, gone}
	m.answers(again, pipeline)
	// The script is in the cache again, but the outcome stays the same.
	m.answers([]string{"0 :2\r\n"}, bundleOf(0, 2, txnOf(0, "eval", counts, "1", "n")))
	m.answers(again, pipeline)
	m.restart()
	m.answers(again, pipeline)
	m.answers([]string{"0 :3\r\n", "0 +OK\r\n"}, bundleOf(1, 4, txnOf(0, "eval", counts, "1", "n"), txnOf(0, "set", "behind", "1")))
	if got := readText(t, m.Machine, "script", "exists", sha("return 'behind'")); got != "*1\r\n:0\r\n" {
		t.Errorf("what stood behind was loaded: %q", got)
	}
}

func sha(source string) string { return fmt.Sprintf("%x", sumOf([]byte(source))) }

// restart continues from a snapshot.
func (m *lockedMachine) restart() {
	m.t.Helper()
	image := imageOf(m.t, m.Machine)
	m.Machine = testMachine(m.t, m.replies)
	if err := m.Restore(bytes.NewReader(image)); err != nil {
		m.t.Fatal(err)
	}
}

// TestAFlushBeforeTheCallInItsTransaction does not affect the call. With its text it would run,
// too, and be in the cache afterwards.
func TestAFlushBeforeTheCallInItsTransaction(t *testing.T) {
	for _, call := range []Txn{bySum(counts, "1", "n"), txnOf(0, "eval", counts, "1", "n")} {
		m := newLockedMachine(t)
		m.repliesOf(bundleOf(0, 0, txnOf(0, "eval", counts, "1", "n")))
		exec := Txn{Kind: KindExec, Proto: 2, Ops: []Op{txnOf(0, "script", "flush").Ops[0], call.Ops[0], txnOf(0, "script", "exists", sha(counts)).Ops[0]}}
		m.answers([]string{"0 *3\r\n+OK\r\n:2\r\n*1\r\n:1\r\n"}, bundleOf(0, 1, exec))
	}
}

// TestOnlyEvalNamesAScript: an entry is refused if another command has a SHA1.
func TestOnlyEvalNamesAScript(t *testing.T) {
	for _, args := range [][]string{{"evalsha", "x", "0"}, {"set", "x", "1"}, {"eval_ro", "x", "0"}} {
		m, txn := testMachine(t, nil), txnOf(0, args...)
		txn.Ops[0].Sum = sumOf(nil)
		if err := m.Apply(1, entryOf(1, Bundle{Txns: []Txn{txn}})); !errors.Is(err, ErrCommand) {
			t.Errorf("%q: %v", args, err)
		}
	}
	short, txn := testMachine(t, nil), bySum("x", "0")
	txn.Ops[0].Sum = txn.Ops[0].Sum[:19]
	if err := short.Apply(1, entryOf(1, Bundle{Txns: []Txn{txn}})); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a short sum: %v", err)
	}
}

// TestScriptsDraw: the random numbers differ in each call, and in each call of one transaction, and
// are the same on each replica.
func TestScriptsDraw(t *testing.T) {
	const draws = "return math.random(1000000000)"
	one, exec := txnOf(0, "eval", draws, "0"), Txn{Kind: KindExec, Proto: 2, Ops: []Op{txnOf(0, "eval", draws, "0").Ops[0], txnOf(0, "eval", draws, "0").Ops[0]}}
	drawn := func() string {
		m := newLockedMachine(t)
		got := m.repliesOf(bundleOf(0, 0, one, one, exec))
		return strings.Join(append(got, m.repliesOf(bundleOf(0, 3, one))...), " ")
	}
	numbers := func(text string) map[string]bool {
		seen := map[string]bool{}
		for _, word := range strings.Fields(text) {
			if word[0] == ':' {
				seen[word] = true
			}
		}
		return seen
	}
	first := drawn()
	if again := drawn(); again != first || len(numbers(first)) != 5 {
		t.Errorf("%q and %q", first, again)
	}
}
