package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"lockstep/ground/durable"
)

// Source is a place from which the files of a backup are read.
type Source interface {
	// String is the place as messages show it.
	String() string
	// Open opens a file and returns its length. It returns fs.ErrNotExist if there is no such file.
	Open(ctx context.Context, name string) (in io.ReadCloser, bytes int64, err error)
}

// Store is a place for backups: a folder, or a prefix of a bucket.
type Store interface {
	Sink
	Shelf
}

// Sink is a place that a backup is written to, and read back from.
type Sink interface {
	Source
	// Claim prepares the place for a backup. It refuses a place that is not empty.
	Claim(ctx context.Context) error
	// Write writes a file, whole or not at all.
	Write(ctx context.Context, name string, in io.Reader) error
	// Undo removes everything that was written since Claim. It does not use the context of the
	// operation that failed.
	Undo() error
}

// Shelf is a place beside others, whose old backups can be deleted.
type Shelf interface {
	Source
	// Beside returns the other places in the same folder or under the same prefix.
	Beside(ctx context.Context) ([]Shelf, error)
	// Holds returns the names of everything in the place, with sizes; -1 means that the name is not
	// a file.
	Holds(ctx context.Context) (map[string]int64, error)
	// Delete removes files, in their order, and the place if nothing else is in it.
	Delete(ctx context.Context, names []string) error
}

// partSuffix ends the names of unfinished files in a folder.
const partSuffix = ".part"

// Folder is a Store on this machine.
type Folder struct {
	Dir string
	// made is true if Claim has made the folder.
	made bool
	mu   sync.Mutex // guards written, the files
	// written are names with and without the suffix.
	written []string
}

// String implements Source.
func (f *Folder) String() string { return f.Dir }

// Open implements Source.
func (f *Folder) Open(_ context.Context, name string) (io.ReadCloser, int64, error) {
	file, err := os.Open(filepath.Join(f.Dir, name))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// Local returns a file of this machine, as a source and a list of files.
func Local(path string) (Source, *Files, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	return &Folder{Dir: filepath.Dir(path)}, &Files{Names: []string{filepath.Base(path)}, Bytes: info.Size()}, nil
}

// Claim implements Sink. It begins a manifest, which keeps other writers out.
func (f *Folder) Claim(context.Context) error {
	held, err := os.ReadDir(f.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(f.Dir, 0o700); err != nil {
			return err
		}
		f.made = true
		if err := durable.Sync(filepath.Dir(f.Dir)); err != nil {
			return errors.Join(err, f.Undo())
		}
	case err != nil:
		return err
	case len(held) > 0:
		return fmt.Errorf("%s is not empty (%s is in it); a backup overwrites nothing", f.Dir, held[0].Name())
	}
	claim := filepath.Join(f.Dir, ManifestName+partSuffix)
	file, err := os.OpenFile(claim, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another backup is being written into %s", f.Dir)
	}
	if err != nil {
		return errors.Join(err, f.Undo())
	}
	f.note(ManifestName)
	return file.Close()
}

// Write implements Sink.
func (f *Folder) Write(_ context.Context, name string, in io.Reader) error {
	f.note(name)
	part := name + partSuffix
	mode := os.O_CREATE | os.O_EXCL
	if name == ManifestName {
		mode = 0 // Claim has made the file.
	}
	file, err := os.OpenFile(filepath.Join(f.Dir, part), mode|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(file, in, make([]byte, 256<<10))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(f.Dir, part), filepath.Join(f.Dir, name)); err != nil {
		return err
	}
	return durable.Sync(f.Dir)
}

func (f *Folder) note(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written = append(f.written, name+partSuffix, name)
}

// Undo implements Sink.
func (f *Folder) Undo() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all error
	for _, name := range f.written {
		if err := os.Remove(filepath.Join(f.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	f.written = nil
	if f.made {
		all = errors.Join(all, os.Remove(f.Dir))
	}
	return all
}

// Beside implements Shelf.
func (f *Folder) Beside(context.Context) ([]Shelf, error) {
	own, err := filepath.Abs(f.Dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Dir(own))
	if err != nil {
		return nil, err
	}
	var places []Shelf
	for _, e := range entries {
		if e.IsDir() && e.Name() != filepath.Base(own) {
			places = append(places, &Folder{Dir: filepath.Join(filepath.Dir(own), e.Name())})
		}
	}
	return places, nil
}

// Holds implements Shelf.
func (f *Folder) Holds(context.Context) (map[string]int64, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, err
	}
	files := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		if files[e.Name()] = info.Size(); !info.Mode().IsRegular() {
			files[e.Name()] = -1
		}
	}
	return files, nil
}

// Delete implements Shelf.
func (f *Folder) Delete(_ context.Context, names []string) error {
	for i, name := range names {
		err := os.Remove(filepath.Join(f.Dir, name))
		if err == nil && i == 0 {
			err = durable.Sync(f.Dir) // The first file must be gone before the others.
		}
		if err != nil {
			return err
		}
	}
	return os.Remove(f.Dir)
}
