package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// write writes an image to a file, with holes where the image is zero.
func (m *image) write(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(m.size); err != nil {
		return err
	}
	for _, run := range m.runs() {
		if _, err := f.WriteAt(run.data, run.offset); err != nil {
			return err
		}
	}
	return nil
}

// runs are the image's sectors, with neighbours joined, cut to its length.
func (m *image) runs() []change {
	numbers := make([]int64, 0, len(m.sectors))
	for n := range m.sectors {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var all []change
	for i := 0; i < len(numbers); {
		run := change{offset: numbers[i] * sector}
		for next := numbers[i]; i < len(numbers) && numbers[i] == next; next++ {
			run.data = append(run.data, m.sectors[next]...)
			i++
		}
		run.data = run.data[:min(int64(len(run.data)), m.size-run.offset)]
		all = append(all, run)
	}
	return all
}

// The positions that Linux's lseek can find: data, and a hole.
const (
	seekData = 3
	seekHole = 4
)

// readImage reads a file, except for its holes.
func readImage(path string) (m image, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	if m.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return m, err
	}
	for at := int64(0); ; {
		if at, err = f.Seek(at, seekData); errors.Is(err, syscall.ENXIO) {
			return m, nil
		} else if err != nil {
			return m, err
		}
		end, err := f.Seek(at, seekHole)
		if err != nil {
			return m, err
		}
		at -= at % sector
		buf := make([]byte, end-at)
		if _, err := f.ReadAt(buf, at); err != nil && !errors.Is(err, io.EOF) {
			return m, err
		}
		for n := 0; n < len(buf); n += sector {
			if s := buf[n:min(n+sector, len(buf))]; !blank(s) {
				m.put((at+int64(n))/sector, 0, s)
			}
		}
		at = end
	}
}

func blank(s []byte) bool { return bytes.Equal(s, make([]byte, len(s))) }

// scan reads a folder, and counts all of it as safe. The paths are relative to the folder.
func scan(dir string) (tree, error) {
	names := tree{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := path[len(dir):]
		names[name] = nil
		if e.IsDir() {
			return nil
		}
		m, err := readImage(path)
		names[name] = &file{safe: m}
		return err
	})
	return names, err
}

// same returns an error if the folder differs from the files that processes see in the model. Then
// the model or the trace is wrong.
func (d *disk) same() error {
	found, err := scan(d.root)
	if err != nil {
		return err
	}
	for name, f := range found {
		model, known := d.live[d.root+name]
		if !known || (f == nil) != (model == nil) {
			return fmt.Errorf("the model does not have %s", name)
		}
		if f != nil {
			m := model.cached()
			if err := m.same(&f.safe); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if len(found) != len(d.live) {
		return fmt.Errorf("the model has %d names, the folder %d", len(d.live), len(found))
	}
	return nil
}

func (m *image) same(real *image) error {
	if m.size != real.size {
		return fmt.Errorf("%d bytes, not %d as in the model", real.size, m.size)
	}
	for n, s := range m.sectors {
		if !bytes.Equal(s, real.sectors[n]) && !(blank(s) && real.sectors[n] == nil) {
			return fmt.Errorf("sector %d is not as in the model", n)
		}
	}
	for n := range real.sectors {
		if m.sectors[n] == nil {
			return fmt.Errorf("sector %d is zero in the model", n)
		}
	}
	return nil
}
