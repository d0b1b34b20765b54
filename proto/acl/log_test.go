package acl

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func at(s int) time.Time { return time.Unix(1_700_000_000+int64(s), 0) }

func summary(l *Log) (text string) {
	for _, e := range l.Newest(1000) {
		text += fmt.Sprintf("%s/%s*%d ", e.Reason, e.Object, e.Count)
	}
	return strings.TrimSpace(text)
}

// TestTheSameRefusalIsCounted: a repeated refusal counts in its old entry if that is no older than
// a minute and among the newest ten. The entry moves to the front and shows the newest client.
func TestTheSameRefusalIsCounted(t *testing.T) {
	var l Log
	get := Entry{Reason: "command", Context: "toplevel", Object: "get", User: "ann", At: at(0), Client: "id=1"}
	key := Entry{Reason: "key", Context: "toplevel", Object: "k", User: "ann", At: at(1)}
	l.Add(get, 100)
	l.Add(key, 100)
	get.At, get.Client = at(60), "id=2"
	l.Add(get, 100)
	if got := summary(&l); got != "command/get*2 key/k*1" || l.Newest(1)[0].Client != "id=2" {
		t.Errorf("%s, %+v", got, l.Newest(1))
	}
	if e := l.Newest(1)[0]; e.ID != 0 || !e.Since.Equal(at(0)) || !e.At.Equal(at(60)) || l.Newest(2)[1].ID != 1 {
		t.Errorf("the same entry goes on as %+v", e)
	}
	get.At = at(121) // more than a minute later
	l.Add(get, 100)
	if got := summary(&l); got != "command/get*1 command/get*2 key/k*1" {
		t.Error(got)
	}
	for _, other := range []Entry{
		{Reason: "command", Context: "multi", Object: "get", User: "ann", At: at(121)},
		{Reason: "command", Context: "toplevel", Object: "get", User: "bob", At: at(121)},
	} {
		l.Add(other, 100)
	}
	if n := len(l.Newest(100)); n != 5 {
		t.Errorf("%d entries: another context or user is taken for the same", n)
	}
	for i := range 10 {
		l.Add(Entry{Reason: "key", Object: fmt.Sprint(i), At: at(121)}, 100)
	}
	l.Add(get, 100)
	if e := l.Newest(1)[0]; e.Object != "get" || e.Count != 1 {
		t.Errorf("what is eleven entries back was counted: %+v", e)
	}
}

// TestRefusalsAreCountedByReason: the counts include refusals that the log no longer has, and
// survive its RESET.
func TestRefusalsAreCountedByReason(t *testing.T) {
	var l Log
	for i, reason := range []string{"auth", "key", "key", "channel", "command", "command", "command"} {
		l.Add(Entry{Reason: reason, At: at(i)}, 1)
	}
	l.Reset()
	if got := l.Counts(); got != (Counts{Auth: 1, Command: 3, Key: 2, Channel: 1}) {
		t.Errorf("%+v", got)
	}
	l.ResetCounts()
	if got := l.Counts(); got != (Counts{}) {
		t.Errorf("%+v behind ResetCounts", got)
	}
}

func TestTheLogIsBounded(t *testing.T) {
	var l Log
	for i := range 50 {
		l.Add(Entry{Reason: "key", Object: fmt.Sprint(i), At: at(i)}, 5)
	}
	if got := summary(&l); got != "key/49*1 key/48*1 key/47*1 key/46*1 key/45*1" {
		t.Error(got)
	}
	if n := len(l.Newest(3)) + len(l.Newest(-1)) + len(l.Newest(0)); n != 3 {
		t.Errorf("%d entries", n)
	}
	long := strings.Repeat("k", 1<<20)
	l.Add(Entry{Reason: "key", Object: long, User: long, At: at(60)}, 5)
	if e := l.Newest(1)[0]; len(e.Object) != textMax || len(e.User) != textMax {
		t.Errorf("%d bytes of a key and %d of a name are kept", len(e.Object), len(e.User))
	}
	// A lower limit takes effect with the next entry, and 0 keeps none.
	l.Add(Entry{Reason: "key", Object: "last", At: at(61)}, 2)
	if got := summary(&l); !strings.HasPrefix(got, "key/last*1 key/kk") || len(l.Newest(100)) != 2 {
		t.Error(len(got))
	}
	l.Add(Entry{Reason: "key", Object: "none", At: at(62)}, 0)
	if n := len(l.Newest(100)); n != 0 {
		t.Errorf("%d entries at a limit of 0", n)
	}
	l.Add(Entry{Reason: "key", Object: "x", At: at(63)}, 2)
	l.Reset()
	if n := len(l.Newest(100)); n != 0 {
		t.Errorf("%d entries behind RESET", n)
	}
}

func TestManyAreRefusedAtOnce(t *testing.T) {
	var l Log
	var wg sync.WaitGroup
	const clients, each = 8, 200
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				l.Add(Entry{Reason: "auth", User: fmt.Sprint(c % 2), At: at(i / 100)}, 10)
				_ = l.Newest(5)
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, e := range l.Newest(10) {
		sum += e.Count
	}
	if sum != clients*each {
		t.Errorf("%d of %d are counted: %s", sum, clients*each, summary(&l))
	}
}
