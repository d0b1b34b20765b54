package backup

import (
	"context"
	"io"
	"slices"
	"syscall"
	"testing"
)

// closed is a folder that the user may not read, like lost+found on a separate disk.
type closed struct{ *Folder }

// Open implements Source.
func (closed) Open(context.Context, string) (io.ReadCloser, int64, error) {
	return nil, 0, syscall.EACCES
}

// among is a place with others beside it.
type among struct {
	*Folder
	others []Shelf
}

// Beside implements Shelf.
func (a among) Beside(context.Context) ([]Shelf, error) { return a.others, nil }

// A folder that the user may not read is not this user's backup: it stays, is listed, and does not
// prevent other deletions.
func TestAClosedFolderBesideIsLeftAlone(t *testing.T) {
	newest := among{&Folder{Dir: "new"}, []Shelf{closed{&Folder{Dir: "lost+found"}}, &Folder{Dir: t.TempDir()}}}
	done, err := Prune(t.Context(), newest, &Manifest{Cluster: "c"}, 1)
	if err != nil || !slices.Equal(done.Closed, []string{"lost+found"}) || len(done.Deleted)+len(done.Kept)+len(done.Damaged) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
}
