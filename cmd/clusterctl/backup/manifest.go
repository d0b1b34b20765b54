package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"lockstep/engine/hashslot"
)

// ManifestName is the file that makes a place a backup.
const ManifestName = "manifest.json"

const (
	// manifestFormat goes up when a manifest changes in a way that older programs would
	// misread.
	manifestFormat = 1
	// manifestBytesMax is the longest manifest that is read.
	manifestBytesMax = 64 << 20
)

// Manifest says what a backup holds.
type Manifest struct {
	Format int `json:"format"`
	// Cluster is the cluster's id, Version that of its program.
	Cluster string `json:"cluster"`
	Version string `json:"version"`
	// BeganMs and CutMs are when the cut began and when it was made everywhere, in
	// Unix milliseconds.
	BeganMs int64   `json:"began_ms"`
	CutMs   int64   `json:"cut_ms"`
	Shards  []Shard `json:"shards"`
	Total   Tally   `json:"total"`
	// Users are an ACL file, Settings a JSON object of texts.
	Users    File `json:"users"`
	Settings File `json:"settings"`

	// half is true if a Mark is among the keys: a load was not complete.
	half bool
}

// File is a file of a backup.
type File struct {
	File   string `json:"file"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Shard is one shard's file.
type Shard struct {
	Shard     int `json:"shard"`
	FirstSlot int `json:"first_slot"`
	LastSlot  int `json:"last_slot"`
	// Index is the position of the file in the shard's log, StampMs the log's time there.
	Index   uint64 `json:"index"`
	StampMs int64  `json:"stamp_ms"`
	File
	Libraries int   `json:"libraries"`
	Scripts   int   `json:"scripts"`
	Tally     Tally `json:"holds"`
}

// Files are the shards' files.
func (m *Manifest) Files() *Files {
	f := &Files{}
	for i := range m.Shards {
		f.Names = append(f.Names, m.Shards[i].File.File)
		f.Bytes += m.Shards[i].Bytes
	}
	return f
}

// all returns all files except the manifest.
func (m *Manifest) all() []*File {
	var all []*File
	for i := range m.Shards {
		all = append(all, &m.Shards[i].File)
	}
	return append(all, &m.Users, &m.Settings)
}

// ErrNoBackup refuses a place without a manifest.
var ErrNoBackup = errors.New("is no backup: it has no " + ManifestName + "; one that was broken off has none either")

// ReadManifest reads and checks a manifest.
func ReadManifest(ctx context.Context, from Source) (*Manifest, error) {
	in, _, err := from.Open(ctx, ManifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s %w", from, ErrNoBackup)
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, manifestBytesMax))
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(data, from.String())
	if err != nil {
		return nil, damage{err}
	}
	return m, nil
}

func parseManifest(data []byte, where string) (*Manifest, error) {
	var head struct{ Format int }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s of %s is damaged: %w", ManifestName, where, err)
	}
	if head.Format != manifestFormat {
		return nil, fmt.Errorf("%s is a backup of format %d; this program knows format %d", where, head.Format, manifestFormat)
	}
	var m Manifest
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s of %s is damaged: %w", ManifestName, where, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s of %s is damaged: %w", ManifestName, where, err)
	}
	return &m, nil
}

// check makes sure that each shard is there once, and that the files are beside the
// manifest.
func (m *Manifest) check() error {
	next := 0
	for i := range m.Shards {
		s := &m.Shards[i]
		if s.FirstSlot != next || s.LastSlot < s.FirstSlot {
			return fmt.Errorf("shard %d", i)
		}
		next = s.LastSlot + 1
	}
	if next != hashslot.Count {
		return fmt.Errorf("there are no files for hash slots from %d on", next)
	}
	seen := map[string]bool{ManifestName: true}
	for _, f := range m.all() {
		if f.File == "" || f.File != filepath.Base(f.File) || seen[f.File] {
			return fmt.Errorf("file %q", f.File)
		}
		seen[f.File] = true
	}
	return nil
}

func (m *Manifest) text() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	return append(data, '\n'), err
}
