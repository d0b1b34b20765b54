package admin

import (
	"strings"
	"testing"
)

func TestMemoryDoctorFindsWhatStandsOut(t *testing.T) {
	const mb = 1 << 20
	well := MemoryFacts{UsedBytes: 10 * mb, PeakBytes: 11 * mb, AllocatedBytes: 12 * mb, ActiveBytes: 13 * mb, ResidentBytes: 14 * mb, RSSBytes: 20 * mb, ClientBytes: 1000}
	for _, c := range []struct {
		change func(*MemoryFacts)
		says   string
	}{
		{func(*MemoryFacts) {}, "Nothing stands out"},
		{func(f *MemoryFacts) { f.UsedBytes = mb }, "next to no data"},
		{func(f *MemoryFacts) { f.PeakBytes = 16 * mb }, "Peak:"},
		{func(f *MemoryFacts) { f.RSSBytes = 25 * mb }, "Resident:"},
		{func(f *MemoryFacts) { f.ActiveBytes = 20 * mb }, "Holes:"},
		{func(f *MemoryFacts) { f.ClientBytes = mb }, "Connections:"},
	} {
		f := well
		c.change(&f)
		got := f.doctor(2)
		if !strings.Contains(got, c.says) {
			t.Errorf("%+v: says %q, without %q", f, got, c.says)
		}
		if n := strings.Count(got, " * "); c.says[len(c.says)-1] == ':' && n != 1 {
			t.Errorf("%+v: %d findings: %s", f, n, got)
		}
	}
}

// Fragmentation compares what the process takes with what it uses, whatever the size of the data: a
// node without data is not fragmented a million times.
func TestFragmentationIsOfTheProcess(t *testing.T) {
	f := MemoryFacts{UsedBytes: 1, AllocatedBytes: 4 << 20, ResidentBytes: 5 << 20, RSSBytes: 6 << 20}
	fields := map[string]memoryField{}
	for _, field := range f.tail() {
		fields[field.name] = field
	}
	if got := fields["fragmentation"].ratio(); got != 1.5 || f.Fragmentation() != got {
		t.Errorf("ratio %v", got)
	}
	if got := fields["fragmentation.bytes"].bytes; got != 2<<20 {
		t.Errorf("%d bytes", got)
	}
}
