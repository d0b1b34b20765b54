package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"sync/atomic"

	"lockstep/engine"
	"lockstep/proto/admin"
)

// Progress is called with the progress: done of total, in keys or bytes. Several
// goroutines may call it.
type Progress func(done, total int64)

// Names of the files that are not a shard's.
const (
	UsersFile    = "users.acl"
	SettingsFile = "settings.json"
)

// Fetch writes a backup of the cluster into an empty place, and reads it back. After an
// error the place is as it was before. writing counts keys, checking counts bytes.
func Fetch(ctx context.Context, t *Target, to Sink, writing, checking Progress) (*Manifest, error) {
	if err := to.Claim(ctx); err != nil {
		return nil, err
	}
	m, err := fetch(ctx, t, to, writing, checking)
	if err != nil {
		return nil, errors.Join(err, to.Undo())
	}
	return m, nil
}

func fetch(ctx context.Context, t *Target, to Sink, writing, checking Progress) (*Manifest, error) {
	c := t.Dial(0)
	defer c.Close()
	b, err := Begin(ctx, c)
	if err != nil {
		return nil, err
	}
	defer End(c, b)
	m := &Manifest{
		Format: manifestFormat, Cluster: b.Cluster, Version: b.Version, BeganMs: b.BeganMs, CutMs: b.CutMs,
		Shards: make([]Shard, len(b.Parts)),
	}
	told := newSum(b, writing)
	err = eachPart(ctx, b, func(ctx context.Context, i int) error {
		p := &b.Parts[i]
		s := &m.Shards[i]
		*s = Shard{Shard: p.Shard, FirstSlot: p.FirstSlot, LastSlot: p.LastSlot, Index: p.Index, StampMs: p.StampMs}
		s.File.File = fmt.Sprintf("shard-%04d.rdb", p.Shard)
		return s.write(ctx, to, &part{ctx: ctx, c: c, of: p, told: told(i)})
	})
	if err != nil {
		return nil, err
	}
	if err := m.writeRest(ctx, to, b); err != nil {
		return nil, err
	}
	if err := m.readBack(ctx, to, checking); err != nil {
		return nil, fmt.Errorf("what was written cannot be read back: %w", err)
	}
	if m.half {
		return nil, fmt.Errorf("something is being loaded into the cluster, or that broke off, and not all of it was there (key %s)", MarkKey)
	}
	for i := range m.Shards {
		m.Total.Merge(&m.Shards[i].Tally)
	}
	data, err := m.text()
	if err != nil {
		return nil, err
	}
	if _, err := parseManifest(data, to.String()); err != nil {
		return nil, err
	}
	return m, to.Write(ctx, ManifestName, bytes.NewReader(data))
}

// writeRest writes the files that do not belong to a shard.
func (m *Manifest) writeRest(ctx context.Context, to Sink, b *admin.Backup) error {
	settings, err := json.MarshalIndent(b.Settings, "", "  ")
	if err != nil {
		return err
	}
	m.Users, m.Settings = File{File: UsersFile}, File{File: SettingsFile}
	return errors.Join(
		m.Users.write(ctx, to, bytes.NewReader(b.Users)),
		m.Settings.write(ctx, to, bytes.NewReader(settings)),
	)
}

// newSum returns progress functions for the parts that report the sum of all parts.
func newSum(b *admin.Backup, progress Progress) func(i int) func(int64) {
	total := int64(0)
	for _, p := range b.Parts {
		total += p.Keys
	}
	var sum atomic.Int64
	return func(int) func(int64) {
		last := int64(0)
		return func(keys int64) {
			done := sum.Add(keys - last)
			last = keys
			if progress != nil {
				progress(done, max(total, done))
			}
		}
	}
}

// write writes the file, and records its length and checksum.
func (f *File) write(ctx context.Context, to Sink, in io.Reader) error {
	sum := &summed{in: in, hash: sha256.New()}
	err := to.Write(ctx, f.File, sum)
	f.Bytes, f.SHA256 = sum.bytes, sum.text()
	return err
}

// summed counts and checksums the bytes that are read from a file.
type summed struct {
	in    io.Reader
	hash  hash.Hash
	bytes int64
	told  func(n int64)
	// failed is the error that ended reading before the end of the file.
	failed error
}

// Read implements io.Reader.
func (s *summed) Read(p []byte) (int, error) {
	if s.failed != nil {
		return 0, s.failed // The parser may have dropped the error.
	}
	n, err := s.in.Read(p)
	if err != nil && err != io.EOF {
		s.failed = err
	}
	_, _ = s.hash.Write(p[:n])
	if s.bytes += int64(n); s.told != nil {
		s.told(int64(n))
	}
	return n, err
}

func (s *summed) text() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// readBack compares all files with what was written, and tallies them.
func (m *Manifest) readBack(ctx context.Context, from Source, progress Progress) error {
	total, done := int64(0), int64(0)
	for _, f := range m.all() {
		total += f.Bytes
	}
	told := func(n int64) {
		if done += n; progress != nil {
			progress(min(done, total), total)
		}
	}
	for i := range m.Shards {
		s := &m.Shards[i]
		err := s.check(ctx, from, told, func(in io.Reader) error {
			count := func(n *int) func([]byte) error {
				return func([]byte) error { *n++; return nil }
			}
			key := func(db int, e *engine.Entry) error {
				m.half = m.half || isMark(db, e)
				s.Tally.Add(db, e)
				return nil
			}
			return ReadFile(in, Visitor{Key: key, Library: count(&s.Libraries), Script: count(&s.Scripts)})
		})
		if err != nil {
			return err
		}
	}
	_, _, err := m.rest(ctx, from, told)
	return err
}

// check reads a whole file and compares it with the manifest.
func (f *File) check(ctx context.Context, from Source, told func(int64), read func(io.Reader) error) error {
	in, size, err := from.Open(ctx, f.File)
	if errors.Is(err, fs.ErrNotExist) {
		return damage{err}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.File, err)
	}
	defer in.Close()
	if size != f.Bytes {
		return damage{fmt.Errorf("%s has %d bytes and should have %d", f.File, size, f.Bytes)}
	}
	sum := &summed{in: until{ctx, in}, hash: sha256.New(), told: told}
	wrong := read(sum)
	switch _, err := io.Copy(io.Discard, sum); {
	case err != nil:
		return fmt.Errorf("%s: %w", f.File, err)
	case wrong != nil:
		return damage{fmt.Errorf("%s is damaged: %w", f.File, wrong)}
	case sum.bytes != f.Bytes || sum.text() != f.SHA256:
		return damage{fmt.Errorf("%s has another content than what was written", f.File)}
	}
	return nil
}

// damage is an error that would also come if the file were read again.
type damage struct{ error }

// Unwrap implements the interface of package errors.
func (d damage) Unwrap() error { return d.error }

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	in  io.Reader
}

// Read implements io.Reader.
func (u until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.in.Read(p)
}

func adder(t *Tally) func(int, *engine.Entry) error {
	return func(db int, e *engine.Entry) error {
		t.Add(db, e)
		return nil
	}
}

// Verify reads a whole backup and compares it with its manifest.
func Verify(ctx context.Context, from Source, progress Progress) (*Manifest, error) {
	m, err := ReadManifest(ctx, from)
	if err != nil {
		return nil, err
	}
	found := *m
	found.Shards = nil
	for _, s := range m.Shards {
		s.Tally, s.Libraries, s.Scripts = Tally{}, 0, 0
		found.Shards = append(found.Shards, s)
	}
	if err := found.readBack(ctx, from, progress); err != nil {
		if errors.As(err, new(damage)) {
			return nil, fmt.Errorf("the backup is damaged: %w", err)
		}
		return nil, fmt.Errorf("the backup cannot be read: %w", err)
	}
	for i := range m.Shards {
		have, want := &found.Shards[i], &m.Shards[i]
		if !have.Tally.Same(&want.Tally) || have.Libraries != want.Libraries || have.Scripts != want.Scripts {
			return nil, fmt.Errorf("the backup is damaged: %s holds something else than the manifest says", want.File.File)
		}
	}
	return m, nil
}
