package journal

import (
	"testing"

	"github.com/hashicorp/raft"
)

// meter is a disk that counts the bytes in it, and the bytes that were read since the last append.
type meter struct {
	*disk
	read, readMost int
}

func (m *meter) GetLog(index uint64, r *raft.Log) error {
	err := m.disk.GetLog(index, r)
	m.read += len(r.Data)
	m.readMost = max(m.readMost, m.read)
	return err
}

func (m *meter) StoreLogs(logs []*raft.Log) error {
	m.read = 0
	return m.disk.StoreLogs(logs)
}

func (m *meter) holds(t *testing.T) (bytes int) {
	t.Helper()
	first, err := m.FirstIndex()
	must(t, err)
	last, err := m.LastIndex()
	must(t, err)
	for i := first; i <= last; i++ {
		var r raft.Log
		must(t, m.disk.GetLog(i, &r))
		bytes += len(r.Data)
	}
	return bytes
}

// One group has an entry and writes nothing more, another one writes and deletes. However long the
// entries are, and they may be as long as a block, dead records are deleted, and no append reads
// much more than it writes.
func TestTheJournalStaysShortHoweverLongEntriesAre(t *testing.T) {
	for _, c := range []struct{ length, entries, together int }{
		{1 << 20, 128, 1}, {64 << 10, 2048, 1}, {64 << 10, 2048, 32}, {100, 40_000, 400},
	} {
		m := &meter{disk: newDisk()}
		j := opened(t, m)
		j.slackBytes = 1 << 20
		silent := j.Group(1)
		must(t, silent.StoreLogs(entries(1, 3, 9)))
		l, data := j.Group(2), make([]byte, c.length)
		written := 0
		for i := 1; i <= c.entries; i += c.together {
			logs := entries(uint64(i), uint64(i+c.together-1), 1)
			for _, e := range logs {
				e.Data = data
			}
			must(t, l.StoreLogs(logs))
			must(t, l.DeleteRange(0, uint64(i)-1))
			written += len(logs) * c.length
		}
		most := int(j.slackBytes) + pruneBytesMin + blockBytesMax + 4*c.length*c.together
		if got := m.holds(t); got > most {
			t.Errorf("%+v: of %d bytes that were written %d are on disk, not %d at most", c, written, got, most)
		}
		if most := max(copyBytes, 2*c.length*c.together) + c.length; m.readMost > most {
			t.Errorf("%+v: %d bytes were read for one append, not %d at most", c, m.readMost, most)
		}
		for _, l := range []*Log{silent, l} {
			first, last := l.ends()
			for i := first; i <= last; i++ {
				must(t, l.GetLog(i, &raft.Log{}))
			}
		}
		again := opened(t, m)
		model := model{first: 1, terms: []uint64{9, 9, 9}}
		model.same(t, again.Group(1))
	}
}
