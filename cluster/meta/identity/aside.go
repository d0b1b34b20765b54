package identity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockstep/ground/durable"
)

// asideFolder is where a removed node's data is kept.
const asideFolder = "removed"

// SetAside empties a data folder whose node was removed from its cluster, so that a new node can
// begin there. It returns the place where the old data is now, or "" if there was nothing to do. It
// deletes the data of nodes that were removed before, so that the folder does not grow with each.
// It moves the identity last, so the next call completes the work after a crash in the middle.
func SetAside(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id, err := parse(filepath.Join(dir, identityFile), b)
	if err != nil || id.Phase != Removed {
		return "", err
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	target := filepath.Join(dir, asideFolder, string(id.ID()))
	if err := forgetOthers(filepath.Join(dir, asideFolder), string(id.ID())); err != nil {
		return "", err
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{raftFolder, JournalFolder, UsersFile, SecretFile, identityFile} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(target, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the data of removed node %s could not be set aside: %w", id.ID(), err)
		}
		if err := errors.Join(durable.Sync(target), durable.Sync(dir)); err != nil {
			return "", err
		}
	}
	return target, nil
}

// forgetOthers deletes the data of other nodes that was set aside.
func forgetOthers(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.Name() == keep {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
