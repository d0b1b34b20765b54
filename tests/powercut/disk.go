package powercut

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sector is the number of bytes that a disk writes completely or not at all.
const sector = 512

// disk holds a folder in two versions: as its processes see it, and as it would be after a power
// cut.
type disk struct {
	root string
	// live are the names that processes see. safe are the names that a power cut leaves, and steps
	// are the changes between the two, in their order.
	live, safe tree
	steps      []step
	// deafFiles and deafFolders make the disk ignore syncs. They are for a test of the tests.
	deafFiles, deafFolders bool
}

// tree maps each path to a file, or to nil for a folder.
type tree map[string]*file

// step is one change to names.
type step struct {
	verb string
	// path is the name that is made or removed, or that is renamed to `to`.
	path, to string
	file     *file
	ended    int
}

const (
	stepMake   = "make"
	stepRemove = "remove"
	stepRename = "rename"
)

func newDisk(root string) *disk { return &disk{root: root, live: tree{}, safe: tree{}} }

func (t tree) take(s step) {
	switch s.verb {
	case stepMake:
		t[s.path] = s.file
	case stepRemove:
		delete(t, s.path)
	case stepRename:
		moved := tree{}
		for path, f := range t {
			if path == s.path || strings.HasPrefix(path, s.path+"/") {
				moved[s.to+path[len(s.path):]] = f
				delete(t, path)
			}
		}
		for path, f := range moved {
			t[path] = f
		}
	}
}

// file is a file's content: the safe part, and the changes since.
type file struct {
	safe    image
	changes []change
	// seen, when set, is the file as processes see it. It is set when a sync has failed, so that a
	// part of the content is not safe and never will be.
	seen *image
}

// change is a write, or a new length if data is nil.
type change struct {
	offset int64
	data   []byte
	size   int64
	ended  int
}

// image holds a file's bytes by sectors. Missing sectors are zero.
type image struct {
	sectors map[int64][]byte
	size    int64
}

func (m *image) clone() image {
	c := image{sectors: make(map[int64][]byte, len(m.sectors)), size: m.size}
	for n, s := range m.sectors {
		c.sectors[n] = s
	}
	return c
}

// put writes the part of a write that lies in one sector. Sectors are replaced, not modified,
// because images share them.
func (m *image) put(n, from int64, data []byte) {
	s := make([]byte, sector)
	copy(s, m.sectors[n])
	copy(s[from:], data)
	if m.sectors == nil {
		m.sectors = map[int64][]byte{}
	}
	m.sectors[n] = s
}

// resize sets the length. Bytes that are cut off are zero if the file grows again.
func (m *image) resize(size int64) {
	if size < m.size {
		m.crop(size)
	}
	m.size = size
}

// crop makes all bytes after size zero.
func (m *image) crop(size int64) {
	for n, s := range m.sectors {
		switch {
		case n*sector >= size:
			delete(m.sectors, n)
		case (n+1)*sector > size:
			cut := slices.Clone(s)
			clear(cut[size-n*sector:])
			m.sectors[n] = cut
		}
	}
}

// take applies a change to the sectors for which lands returns true, and the new length if length
// is true.
func (m *image) take(c *change, lands func(sector int64) bool, length bool) {
	if c.data == nil {
		if length {
			m.resize(c.size)
		}
		return
	}
	for done := 0; done < len(c.data); {
		n := (c.offset + int64(done)) / sector
		from := c.offset + int64(done) - n*sector
		part := min(int(sector-from), len(c.data)-done)
		if lands(n) {
			m.put(n, from, c.data[done:done+part])
		}
		done += part
	}
	if length {
		m.size = max(m.size, c.offset+int64(len(c.data)))
	}
}

func always(int64) bool { return true }

// take applies a change to the file.
func (f *file) take(c change) {
	f.changes = append(f.changes, c)
	if f.seen != nil {
		f.seen.take(&c, always, true)
	}
}

// cached is the file as processes see it.
func (f *file) cached() image {
	if f.seen != nil {
		return *f.seen
	}
	m := f.safe.clone()
	for i := range f.changes {
		m.take(&f.changes[i], always, true)
	}
	return m
}

// length is the file's length as processes see it.
func (f *file) length() int64 {
	if f.seen != nil {
		return f.seen.size
	}
	size := f.safe.size
	for i := range f.changes {
		if c := &f.changes[i]; c.data == nil {
			size = c.size
		} else {
			size = max(size, c.offset+int64(len(c.data)))
		}
	}
	return size
}

// sync makes the changes safe that had ended before a call began.
func (f *file) sync(began int) {
	var left []change
	for i := range f.changes {
		if f.changes[i].ended < began {
			f.safe.take(&f.changes[i], always, true)
		} else {
			left = append(left, f.changes[i])
		}
	}
	f.changes = left
}

// forget is a failed sync: changes that had ended before it began are not on disk, and will be
// there only if they are written again. Processes still see them.
func (f *file) forget(began int) {
	if f.seen == nil {
		m := f.cached()
		f.seen = &m
	}
	f.changes = slices.DeleteFunc(f.changes, func(c change) bool { return c.ended < began })
}

// syncNames makes changes of names safe that ended before a folder's sync began. It does so in all
// folders, because the changes reach the disk in order.
func (d *disk) syncNames(began int) {
	for len(d.steps) > 0 && d.steps[0].ended < began {
		d.safe.take(d.steps[0])
		d.steps = d.steps[1:]
	}
}

// fate is how much of the unsynced changes survives a power cut.
type fate int

const (
	// nothing means that only synced changes survive.
	nothing fate = iota
	// everything is the result of killing only the process.
	everything
	// half means that each sector has any of its versions. Of the changes of names all survive, or
	// a random first part; this also holds for the fates below.
	half
	// most means that each sector survives with probability 9/10.
	most
	// few means that each sector survives with probability 1/10.
	few
	// lastOnly means that the sectors of each file's last write survive, and no earlier change: the
	// disk reversed the order.
	lastOnly
)

var allFates = []fate{nothing, everything, half, most, few, lastOnly}

func (f fate) String() string {
	return [...]string{"nothing", "everything", "half", "most", "few", "the last write only"}[f]
}

// survivor is a version of the file that is possible after a power cut.
func (f *file) survivor(rng *rand.Rand, how fate) image {
	m := f.safe.clone()
	if len(f.changes) == 0 || how == nothing {
		return m
	}
	// A sector has the version after some change to it, and so has the length.
	until := map[int64]int{}
	draw := func() int {
		switch chance := rng.IntN(10); {
		case how == everything, how == most && chance > 0, how == few && chance == 0:
			return len(f.changes)
		case how == half:
			return rng.IntN(len(f.changes) + 1)
		}
		return 0
	}
	length := draw()
	if how == lastOnly {
		length = len(f.changes)
	}
	for i := range f.changes {
		last := i == len(f.changes)-1
		m.take(&f.changes[i], func(n int64) bool {
			if how == lastOnly {
				return last
			}
			if _, drawn := until[n]; !drawn {
				until[n] = draw()
			}
			return i < until[n]
		}, i < length)
	}
	m.crop(m.size)
	return m
}

// cut writes a version of the folder that is possible after a power cut into the folder `to`.
func (d *disk) cut(rng *rand.Rand, how fate, to string) error {
	names := tree{}
	for path, f := range d.safe {
		names[path] = f
	}
	kept := len(d.steps)
	if how == nothing {
		kept = 0
	} else if how != everything && rng.IntN(2) == 0 {
		kept = rng.IntN(len(d.steps) + 1)
	}
	for _, s := range d.steps[:kept] {
		names.take(s)
	}
	for _, path := range names.sorted() {
		target := filepath.Join(to, strings.TrimPrefix(path, d.root))
		if names[path] == nil {
			if err := os.MkdirAll(target, 0o700); err != nil {
				return err
			}
			continue
		}
		m := names[path].survivor(rng, how)
		if err := m.write(target); err != nil {
			return err
		}
	}
	return nil
}

func (t tree) sorted() []string {
	paths := make([]string, 0, len(t))
	for path := range t {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}
