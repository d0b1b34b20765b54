package node

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"lockstep/cluster/caught"
	"lockstep/cluster/meta"
	"lockstep/engine/rdb"
	"lockstep/node/config"
	"lockstep/node/process"
	"lockstep/node/users"
	"lockstep/proto/client"
)

const (
	// backupBeginTimeout bounds the beginning: a shard may be without a leader,
	// write a snapshot, or have a backup that nobody reads on.
	backupBeginTimeout = backupStallLimit + 15*time.Second
	// backupAgainEvery is how often a shard's leader is looked for.
	backupAgainEvery = 50 * time.Millisecond
	// backupTouchEvery keeps the parts alive whose turn has not come.
	backupTouchEvery = backupStallLimit / 3
)

// BackupBegin implements client.Backups: it cuts every shard, each where it is
// led, and says where to read what.
func (n *Node) BackupBegin(ctx context.Context) (*client.Backup, error) {
	ctx, cancel := context.WithTimeout(ctx, backupBeginTimeout)
	defer cancel()
	beganMs := time.Now().UnixMilli()
	// Until now: users and settings that were acknowledged by other nodes are in it.
	view, err := n.Meta.CatchUp(ctx)
	if err != nil {
		return nil, fmt.Errorf("the users and settings could not be had: %w", err)
	}
	b := &client.Backup{
		Cluster: n.Folder.Identity().ClusterID, Version: process.Version, BeganMs: beganMs,
		Parts: make([]client.BackupPart, n.ShardCount()), Users: usersText(view), Settings: settingsText(view),
	}
	errs := make([]error, len(b.Parts))
	var wait caught.Group
	for i := range b.Parts {
		wait.Go(func() { b.Parts[i], errs[i] = n.beginPart(ctx, uint32(i)) })
	}
	wait.Wait()
	b.CutMs = time.Now().UnixMilli()
	for i := range view.Shards {
		if i < len(b.Parts) {
			b.Parts[i].FirstSlot, b.Parts[i].LastSlot = int(view.Shards[i].FirstSlot), int(view.Shards[i].LastSlot)
		}
	}
	for _, err := range errs {
		if err != nil {
			n.backupEndAll(b)
			return nil, err
		}
	}
	return b, nil
}

// usersText is an ACL file of the cluster's users.
func usersText(v *meta.View) []byte {
	text := []byte{}
	for _, r := range users.Records(v) {
		text = append(append(text, r.Line()...), '\n')
	}
	return text
}

// settingsText are the settings that CONFIG SET gave the whole cluster.
func settingsText(v *meta.View) map[string]string {
	set := map[string]string{}
	for name, value := range v.Settings {
		if d, ok := config.Lookup(name); ok && d.Has(config.Replicated) && !d.Has(config.Secret) && !d.Has(config.Immutable) {
			set[name] = value
		}
	}
	return set
}

// beginPart looks for a shard's leader until it has cut the shard.
func (n *Node) beginPart(ctx context.Context, shard uint32) (client.BackupPart, error) {
	last := errors.New("nobody leads it")
	for {
		node, known := meta.NodeID(""), false
		if l := n.Leader(int(shard)); l.ID != "" {
			node, known = meta.NodeID(l.ID), true
		}
		if known {
			p, err := n.openPart(ctx, node, shard)
			if err == nil {
				return p, nil
			}
			last = err
		}
		select {
		case <-ctx.Done():
			return client.BackupPart{}, fmt.Errorf("shard %d could not be cut: %w", shard, last)
		case <-time.After(backupAgainEvery):
		}
	}
}

func (n *Node) openPart(ctx context.Context, node meta.NodeID, shard uint32) (client.BackupPart, error) {
	var p client.BackupPart
	answer, err := n.askBackup(ctx, node, binary.LittleEndian.AppendUint32([]byte{backupOpen}, shard))
	if err == nil {
		err = json.Unmarshal(answer, &p)
	}
	p.Node = string(node)
	return p, err
}

// askBackup sends a question about a part to the node that has it, which may be
// this one.
func (n *Node) askBackup(ctx context.Context, node meta.NodeID, payload []byte) ([]byte, error) {
	var answer []byte
	if node == n.Self.ID() {
		done := make(chan []byte, 1)
		n.serveBackup(payload, func(b []byte) { done <- b })
		answer = <-done
	} else {
		known, ok := n.Machine.View().Node(node)
		if !ok {
			return nil, fmt.Errorf("no node %s", node)
		}
		ctx, cancel := context.WithTimeout(ctx, backupBeginTimeout)
		defer cancel()
		var err error
		if answer, err = n.Transport.Call(ctx, known.PeerAddr, kindBackup, payload); err != nil {
			return nil, err
		}
	}
	if len(answer) == 0 || answer[0] != 0 {
		return nil, errors.New(string(answer[min(1, len(answer)):]))
	}
	return answer[1:], nil
}

// BackupNext implements client.Backups.
func (n *Node) BackupNext(ctx context.Context, node string, id uint64) (chunk []byte, keys int64, err error) {
	answer, err := n.askBackup(ctx, meta.NodeID(node), binary.LittleEndian.AppendUint64([]byte{backupNext}, id))
	if err != nil {
		return nil, 0, err
	}
	if len(answer) < 8 {
		return nil, 0, errors.New("a peer's answer makes no sense")
	}
	return answer[8:], int64(binary.LittleEndian.Uint64(answer)), nil
}

// BackupEnd implements client.Backups.
func (n *Node) BackupEnd(ctx context.Context, node string, id uint64) error {
	_, err := n.askBackup(ctx, meta.NodeID(node), binary.LittleEndian.AppendUint64([]byte{backupEnd}, id))
	return err
}

func (n *Node) backupEndAll(b *client.Backup) {
	ctx, cancel := context.WithTimeout(n.ctx, backupStallLimit)
	defer cancel()
	for _, p := range b.Parts {
		if p.ID != 0 {
			_ = n.BackupEnd(ctx, p.Node, p.ID)
		}
	}
}

// BackupStream implements client.Backups: the parts one behind the other, as one
// file. Those that wait for their turn are kept alive meanwhile.
func (n *Node) BackupStream(ctx context.Context, b *client.Backup, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer n.backupEndAll(b)
	go n.touchParts(ctx, b.Parts)
	join := rdb.NewJoiner(w)
	for _, p := range b.Parts {
		if err := join.Add(&partReader{n: n, ctx: ctx, part: p}); err != nil {
			return fmt.Errorf("shard %d: %w", p.Shard, err)
		}
	}
	return join.Close()
}

func (n *Node) touchParts(ctx context.Context, parts []client.BackupPart) {
	t := time.NewTicker(backupTouchEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		for _, p := range parts {
			// One that was read to its end is not known any more.
			_, _ = n.askBackup(ctx, meta.NodeID(p.Node), binary.LittleEndian.AppendUint64([]byte{backupTouch}, p.ID))
		}
	}
}

// partReader reads one part as it arrives.
type partReader struct {
	n    *Node
	ctx  context.Context
	part client.BackupPart
	rest []byte
	end  bool
}

// Read implements io.Reader.
func (r *partReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.end {
			return 0, io.EOF
		}
		chunk, _, err := r.n.BackupNext(r.ctx, r.part.Node, r.part.ID)
		if err != nil {
			return 0, err
		}
		r.rest, r.end = chunk, len(chunk) == 0
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
