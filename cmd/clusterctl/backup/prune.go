package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Pruned lists what happened to older backups.
type Pruned struct {
	// Deleted and Kept are places of backups of the same cluster, the newest first, without the
	// backup that was just made.
	Deleted []string `json:"deleted"`
	Kept    []string `json:"kept"`
	// Damaged are places of such backups that lack a file or have an extra one. They do not count,
	// and are not deleted.
	Damaged []string `json:"damaged,omitempty"`
	// Closed are folders that this user may not read. The backups of this user are not
	// among them, so they do not count either.
	Closed []string `json:"closed,omitempty"`
}

// Prune deletes backups beside a new one until keep are left, including the new one. It
// deletes a place if its manifest says that it is an older backup of the same cluster,
// all of its files have their sizes, and there is no other file. Other places stay and do
// not count.
func Prune(ctx context.Context, newest Shelf, m *Manifest, keep int) (*Pruned, error) {
	beside, err := newest.Beside(ctx)
	if err != nil {
		return nil, err
	}
	done := &Pruned{Deleted: []string{}, Kept: []string{}}
	var old []older
	for _, place := range beside {
		o, err := readOlder(ctx, place)
		switch {
		case errors.Is(err, fs.ErrPermission):
			done.Closed = append(done.Closed, place.String())
		case err != nil:
			return done, err
		case o == nil || o.m.Cluster != m.Cluster || o.m.CutMs >= m.BeganMs:
		case !maps.Equal(o.files, o.m.sizes(o.files[ManifestName])):
			done.Damaged = append(done.Damaged, place.String())
		default:
			old = append(old, *o)
		}
	}
	slices.SortFunc(old, func(a, b older) int { return cmp.Compare(b.m.CutMs, a.m.CutMs) })
	for i, o := range old {
		if i < keep-1 {
			done.Kept = append(done.Kept, o.place.String())
			continue
		}
		if err := o.place.Delete(ctx, o.names()); err != nil {
			return done, fmt.Errorf("%s: %w", o.place, err)
		}
		done.Deleted = append(done.Deleted, o.place.String())
	}
	return done, nil
}

// older is an older backup beside the new one.
type older struct {
	place Shelf
	m     *Manifest
	// files are all files of the place, with their sizes.
	files map[string]int64
}

// readOlder reads a place. It returns nil if the place is not a backup that this program knows.
func readOlder(ctx context.Context, place Shelf) (*older, error) {
	m, err := ReadManifest(ctx, place)
	if errors.Is(err, ErrNoBackup) || errors.As(err, new(damage)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files, err := place.Holds(ctx)
	return &older{place, m, files}, err
}

// names returns all files, the manifest first: if the deletion is interrupted, the rest cannot be
// mistaken for a backup.
func (o *older) names() []string {
	names := []string{ManifestName}
	for _, f := range o.m.all() {
		names = append(names, f.File)
	}
	return names
}

// sizes returns the files of a backup and the sizes that they should have.
func (m *Manifest) sizes(manifestBytes int64) map[string]int64 {
	sizes := map[string]int64{ManifestName: manifestBytes}
	for _, f := range m.all() {
		sizes[f.File] = f.Bytes
	}
	return sizes
}
