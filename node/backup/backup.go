// Package backup cuts the shards of a cluster for a backup, each at its leader, and gives the cuts
// in pieces to the client that asked.
//
// The node that a client asks starts the backup at all leaders (backup.go). A leader keeps a cut
// open while a client reads it (part.go), and closes it when no client goes on reading: while it is
// open, changed values are kept twice in memory, and the shard's log cannot be truncated. Users and
// settings come from the meta group's view, after the node has caught up with that group. The meta
// group records that a backup was read back (last.go).
package backup

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"lockstep/cluster/meta"
	"lockstep/engine/rdb"
	"lockstep/ground/caught"
	"lockstep/node/config"
	"lockstep/node/process"
	"lockstep/node/users"
	"lockstep/proto/admin"
)

const (
	// backupBeginTimeout bounds the start of a backup: a shard may be without a leader, may be
	// writing a snapshot, or may have a backup that no client goes on reading.
	backupBeginTimeout = backupStallLimit + 15*time.Second
	// backupAgainEvery is the pause between attempts to find a shard's leader.
	backupAgainEvery = 50 * time.Millisecond
	// backupTouchEvery is how often the parts that wait for their turn are kept alive.
	backupTouchEvery = backupStallLimit / 3
)

// BackupBegin implements admin.Backups: it cuts every shard at its leader, and says where to read
// each part.
func (b *Backups) BackupBegin(ctx context.Context) (*admin.Backup, error) {
	ctx, cancel := context.WithTimeout(ctx, backupBeginTimeout)
	defer cancel()
	beganMs := time.Now().UnixMilli()
	// The node catches up first, so that the backup has the users and settings that other nodes
	// have acknowledged.
	view, err := b.Member.Meta.CatchUp(ctx)
	if err != nil {
		return nil, fmt.Errorf("the users and settings could not be had: %w", err)
	}
	begun := &admin.Backup{
		Cluster: b.Member.Folder.Identity().ClusterID, Version: process.Version, BeganMs: beganMs,
		Parts: make([]admin.BackupPart, b.Member.ShardCount()), Users: usersText(view), Settings: settingsText(view),
	}
	errs := make([]error, len(begun.Parts))
	var wait caught.Group
	for i := range begun.Parts {
		wait.Go(func() { begun.Parts[i], errs[i] = b.cutPart(ctx, uint32(i)) })
	}
	wait.Wait()
	begun.CutMs = time.Now().UnixMilli()
	for i := range view.Shards {
		if i < len(begun.Parts) {
			begun.Parts[i].FirstSlot, begun.Parts[i].LastSlot = int(view.Shards[i].FirstSlot), int(view.Shards[i].LastSlot)
		}
	}
	for _, err := range errs {
		if err != nil {
			b.backupEndAll(begun)
			return nil, err
		}
	}
	return begun, nil
}

// usersText is the cluster's users in the form of an ACL file.
func usersText(v *meta.View) []byte {
	text := []byte{}
	for _, r := range users.Records(v) {
		text = append(append(text, r.Line()...), '\n')
	}
	return text
}

// settingsText are the settings that CONFIG SET has changed for the whole cluster.
func settingsText(v *meta.View) map[string]string {
	set := map[string]string{}
	for name, value := range v.Settings {
		if d, ok := config.Lookup(name); ok && d.Has(config.Replicated) && !d.Has(config.Secret) && !d.Has(config.Immutable) {
			set[name] = value
		}
	}
	return set
}

// cutPart retries until it has cut a shard at its leader.
func (b *Backups) cutPart(ctx context.Context, shard uint32) (admin.BackupPart, error) {
	last := errors.New("nobody leads it")
	for {
		node, known := meta.NodeID(""), false
		if l := b.Member.Leader(int(shard)); l.ID != "" {
			node, known = meta.NodeID(l.ID), true
		}
		if known {
			p, err := b.openPart(ctx, node, shard)
			if err == nil {
				return p, nil
			}
			last = err
		}
		select {
		case <-ctx.Done():
			return admin.BackupPart{}, fmt.Errorf("shard %d could not be cut: %w", shard, last)
		case <-time.After(backupAgainEvery):
		}
	}
}

func (b *Backups) openPart(ctx context.Context, node meta.NodeID, shard uint32) (admin.BackupPart, error) {
	var p admin.BackupPart
	answer, err := b.askBackup(ctx, node, binary.LittleEndian.AppendUint32([]byte{backupOpen}, shard))
	if err == nil {
		err = json.Unmarshal(answer, &p)
	}
	p.Node = string(node)
	return p, err
}

// askBackup sends a request about a part to the node that has the part, which may be this one.
func (b *Backups) askBackup(ctx context.Context, node meta.NodeID, payload []byte) ([]byte, error) {
	var answer []byte
	if node == b.Member.Self.ID() {
		done := make(chan []byte, 1)
		b.Serve(payload, func(b []byte) { done <- b })
		answer = <-done
	} else {
		known, ok := b.Member.Machine.View().Node(node)
		if !ok {
			return nil, fmt.Errorf("no node %s", node)
		}
		ctx, cancel := context.WithTimeout(ctx, backupBeginTimeout)
		defer cancel()
		var err error
		if answer, err = b.Member.Transport.Call(ctx, known.PeerAddr, Kind, payload); err != nil {
			return nil, err
		}
	}
	if len(answer) == 0 || answer[0] != 0 {
		return nil, errors.New(string(answer[min(1, len(answer)):]))
	}
	return answer[1:], nil
}

// BackupNext implements admin.Backups.
func (b *Backups) BackupNext(ctx context.Context, node string, id uint64) (chunk []byte, keys int64, err error) {
	answer, err := b.askBackup(ctx, meta.NodeID(node), binary.LittleEndian.AppendUint64([]byte{backupNext}, id))
	if err != nil {
		return nil, 0, err
	}
	if len(answer) < 8 {
		return nil, 0, errors.New("a peer's answer makes no sense")
	}
	return answer[8:], int64(binary.LittleEndian.Uint64(answer)), nil
}

// BackupEnd implements admin.Backups.
func (b *Backups) BackupEnd(ctx context.Context, node string, id uint64) error {
	_, err := b.askBackup(ctx, meta.NodeID(node), binary.LittleEndian.AppendUint64([]byte{backupEnd}, id))
	return err
}

func (b *Backups) backupEndAll(begun *admin.Backup) {
	ctx, cancel := context.WithTimeout(b.Ctx, backupStallLimit)
	defer cancel()
	for _, p := range begun.Parts {
		if p.ID != 0 {
			_ = b.BackupEnd(ctx, p.Node, p.ID)
		}
	}
}

// BackupStream implements admin.Backups: it writes the parts one after the other, as one file.
// Meanwhile it keeps those alive that wait for their turn.
func (b *Backups) BackupStream(ctx context.Context, begun *admin.Backup, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer b.backupEndAll(begun)
	go b.touchParts(ctx, begun.Parts)
	join := rdb.NewJoiner(w)
	for _, p := range begun.Parts {
		if err := join.Add(&partReader{backups: b, ctx: ctx, part: p}); err != nil {
			return fmt.Errorf("shard %d: %w", p.Shard, err)
		}
	}
	return join.Close()
}

func (b *Backups) touchParts(ctx context.Context, parts []admin.BackupPart) {
	t := time.NewTicker(backupTouchEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		for _, p := range parts {
			// A part that was read to its end is no longer known; this error is ignored.
			_, _ = b.askBackup(ctx, meta.NodeID(p.Node), binary.LittleEndian.AppendUint64([]byte{backupTouch}, p.ID))
		}
	}
}

// partReader reads one part as it arrives.
type partReader struct {
	backups *Backups
	ctx     context.Context
	part    admin.BackupPart
	rest    []byte
	end     bool
}

// Read implements io.Reader.
func (r *partReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.end {
			return 0, io.EOF
		}
		chunk, _, err := r.backups.BackupNext(r.ctx, r.part.Node, r.part.ID)
		if err != nil {
			return 0, err
		}
		r.rest, r.end = chunk, len(chunk) == 0
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
