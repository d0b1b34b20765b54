package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsReplacedWholeOrStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, c := range []struct {
		text string
		mode fs.FileMode
	}{{"first", 0o600}, {"second", 0o640}, {"", 0o600}} {
		if err := Replace(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		info, err2 := os.Stat(path)
		if err := errors.Join(err, err2); err != nil || string(text) != c.text || info.Mode() != c.mode {
			t.Errorf("%q, %v, %v", text, info.Mode(), err)
		}
	}
	// A folder cannot be replaced by a file.
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(folder, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if err := Replace(filepath.Join(dir, "nowhere", "file"), []byte("x"), 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// A failed attempt leaves no file behind.
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestWhatIsNotThereCannotBeSynced(t *testing.T) {
	dir := t.TempDir()
	if err := Sync(dir); err != nil {
		t.Error(err)
	}
	if err := Sync(filepath.Join(dir, "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
