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

// SetAside empties a data folder whose node was removed from its cluster, so
// that a new node can begin there, and returns where the old data is now; "" if
// there was nothing to do. Of earlier removed nodes nothing is kept, so that the
// folder does not grow with each. A crash in the middle is made good by the next
// call: the identity is moved last.
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

// forgetOthers deletes what was set aside of other nodes.
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
