package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
	"lockstep/proto/client"
)

// kindBackup reads one shard of a backup, between nodes: what u8, then shard u32
// (backupOpen) or the part's id u64. Answer: 0 and, of backupOpen JSON of a
// client.BackupPart, of backupNext the number of keys written u64 and a piece of
// the file, empty behind its end; or 1 and an error in words.
const kindBackup uint8 = 35

const (
	backupOpen uint8 = iota
	backupNext
	backupTouch
	backupEnd
)

const (
	// backupPieceBytes is the longest piece.
	backupPieceBytes = 256 << 10
	// backupStallLimit is how long a part waits to be read: until then what changes
	// is kept twice in memory, and the shard's log cannot be cut.
	backupStallLimit = 30 * time.Second
	// backupPaceMin is the least number of bytes a second, over the time since a
	// part's first piece but its first minute: else it would be kept for ever.
	backupPaceMin = 64 << 10
	backupGrace   = time.Minute
)

var (
	errPartUnknown = errors.New("this part of a backup is not known here any more: it was read too slowly, or to its end, or its node began anew")
	errPartSlow    = fmt.Errorf("it is read too slowly: less than %d bytes a second", backupPaceMin)
	errPartStalled = fmt.Errorf("nobody has read on for %v", backupStallLimit)
)

// backupParts are the shards that this node writes out for backups now; no shard
// has more than one.
type backupParts struct {
	mu   sync.Mutex
	open map[uint64]*backupPart
}

// backupPart is a cut of a shard that is written out as it is read.
type backupPart struct {
	pipe *io.PipeReader
	keys atomic.Int64
	// why is the reason for which it was closed before its end.
	why atomic.Pointer[error]
	// reading keeps two readers apart.
	reading sync.Mutex
	stall   *time.Timer
	// begun is when the first piece was read, pieces the bytes of all.
	begun  time.Time
	pieces int64
}

// closeFor ends a part before its end; who reads on is told why.
func (p *backupPart) closeFor(why error) {
	p.why.CompareAndSwap(nil, &why)
	_ = p.pipe.CloseWithError(why)
}

// serveBackup handles a kindBackup request; it may block.
func (n *Node) serveBackup(payload []byte, reply func([]byte)) {
	answer, err := n.backupAnswer(payload)
	if err != nil {
		reply(append([]byte{1}, err.Error()...))
		return
	}
	reply(append([]byte{0}, answer...))
}

func (n *Node) backupAnswer(payload []byte) ([]byte, error) {
	if len(payload) == 5 && payload[0] == backupOpen {
		return n.openBackupPart(binary.LittleEndian.Uint32(payload[1:]))
	}
	if len(payload) != 9 {
		return nil, errors.New("a request about a backup makes no sense")
	}
	id := binary.LittleEndian.Uint64(payload[1:])
	n.backups.mu.Lock()
	p := n.backups.open[id]
	n.backups.mu.Unlock()
	if p == nil {
		return nil, errPartUnknown
	}
	switch payload[0] {
	case backupNext:
		return p.next()
	case backupTouch:
		p.stall.Reset(backupStallLimit)
	default:
		p.closeFor(errPartUnknown)
	}
	return nil, nil
}

// openBackupPart cuts a shard that this node leads and begins to write it out.
// The first shard's file holds the functions and scripts, which all shards have.
func (n *Node) openBackupPart(shard uint32) ([]byte, error) {
	ctx, cancel := context.WithTimeout(n.ctx, backupBeginTimeout)
	defer cancel()
	if !n.Serving.Load() {
		return nil, errors.New("this node is still starting")
	}
	replica := n.Replica(int(shard))
	if replica == nil {
		return nil, errors.New("this node has no replica of it")
	}
	snapshot, err := replica.Cut(ctx)
	if err != nil {
		return nil, err
	}
	in, out := io.Pipe()
	p := &backupPart{pipe: in}
	id := rand.Uint64()>>12 | 1
	told := client.BackupPart{Shard: int(shard), ID: id, Index: snapshot.Index(), StampMs: snapshot.DayMs(), Keys: snapshot.Keys()}
	p.stall = time.AfterFunc(backupStallLimit, func() { p.closeFor(errPartStalled) })
	if !n.background.run(func() { n.writeBackupPart(id, p, snapshot, out, shard == 0) }) {
		p.stall.Stop()
		snapshot.Release()
		return nil, cluster.ErrShuttingDown
	}
	n.backups.mu.Lock()
	if n.backups.open == nil {
		n.backups.open = map[uint64]*backupPart{}
	}
	n.backups.open[id] = p
	n.backups.mu.Unlock()
	return json.Marshal(told)
}

func (n *Node) writeBackupPart(id uint64, p *backupPart, snapshot *fsm.Snapshot, out *io.PipeWriter, programs bool) {
	stop := context.AfterFunc(n.ctx, func() { p.closeFor(errPartUnknown) })
	err := snapshot.PersistKeys(out, programs, func(keys int) { p.keys.Add(int64(keys)) })
	snapshot.Release()
	_ = out.CloseWithError(err) // nil: the end
	stop()
	if err != nil {
		n.log.Warn("a shard was not backed up to its end", "err", err)
	}
	// That it ended, and how, is told for as long.
	time.AfterFunc(backupStallLimit, func() {
		p.stall.Stop()
		n.backups.mu.Lock()
		delete(n.backups.open, id)
		n.backups.mu.Unlock()
	})
}

// next is the next piece, with the number of keys written so far before it.
func (p *backupPart) next() ([]byte, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	p.stall.Reset(backupStallLimit)
	if p.begun.IsZero() {
		p.begun = time.Now()
	}
	if late := time.Since(p.begun) - backupGrace; late > 0 && p.pieces < int64(late.Seconds()*backupPaceMin) {
		p.closeFor(errPartSlow)
	}
	piece := bytes.NewBuffer(make([]byte, 0, 8+backupPieceBytes))
	_, _ = piece.Write(make([]byte, 8))
	got, err := io.CopyN(piece, p.pipe, backupPieceBytes)
	p.pieces += got
	if why := p.why.Load(); why != nil && errors.Is(err, io.ErrClosedPipe) {
		err = *why
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	b := piece.Bytes()
	binary.LittleEndian.PutUint64(b, uint64(p.keys.Load()))
	return b, nil
}
