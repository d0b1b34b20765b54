package page

import (
	"reflect"
	"testing"
)

func TestFirstLeaderIsNoChange(t *testing.T) {
	var c Changes
	c.See(1, "0", 5, "a")
	c.See(2, "0", 5, "a")
	c.See(3, "0", 4, "b") // an outdated report
	if all := c.All(); len(all) != 0 {
		t.Fatalf("%+v", all)
	}
	c.See(4, "0", 6, "b")
	c.See(5, "meta", 1, "b")
	c.See(6, "0", 8, "b")
	want := []Change{{4, "0", 6, "a", "b"}, {6, "0", 8, "b", "b"}}
	if all := c.All(); !reflect.DeepEqual(all, want) {
		t.Errorf("%+v", all)
	}
}

func TestChangesAreBounded(t *testing.T) {
	var c Changes
	for term := range uint64(1000) {
		c.See(int64(term), "0", term+1, "a")
	}
	all := c.All()
	if len(all) != changesKept || all[0].Term != 1001-changesKept || all[changesKept-1].Term != 1000 {
		t.Errorf("%d from term %d", len(all), all[0].Term)
	}
}

func TestMergedChangesAreOnePerTerm(t *testing.T) {
	got := merge([][]Change{
		{{100, "0", 2, "a", "b"}, {290, "0", 3, "a", "c"}, {400, "0", 5, "b", "b"}},
		{{90, "0", 2, "a", "b"}, {310, "0", 3, "b", "c"}, {390, "0", 4, "c", "b"}, {200, "meta", 3, "a", "c"}},
		nil,
	})
	want := []Change{{400, "0", 5, "b", "b"}, {390, "0", 4, "c", "b"}, {290, "0", 3, "b", "c"}, {200, "meta", 3, "a", "c"}, {90, "0", 2, "a", "b"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	var many []Change
	for term := range uint64(500) {
		many = append(many, Change{AtMs: int64(term), Group: "1", Term: term, To: "a"})
	}
	if got := merge([][]Change{many, many}); len(got) != changesKept || got[0].Term != 499 {
		t.Errorf("%d, the first of term %d", len(got), got[0].Term)
	}
}

func TestTimesAreBroughtToTheClockOfWhoAsked(t *testing.T) {
	report := NodeReport{NowMs: 5000, Changes: []Change{{AtMs: 4000}}, Series: &Series{AtMs: []int64{3000, 4000}}}
	report.ByClock(1000)
	report.ByClock(1000)
	if report.Changes[0].AtMs != 0 || report.Series.AtMs[0] != -1000 || report.Series.AtMs[1] != 0 || report.NowMs != 1000 {
		t.Errorf("%+v %+v", report, report.Series)
	}
	silent := NodeReport{}
	silent.ByClock(1000)
}
