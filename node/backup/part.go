package backup

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
	"lockstep/node/member"
	"lockstep/proto/admin"
)

// Kind reads one shard of a backup, between nodes. The request is the operation u8, then the shard
// u32 (backupOpen) or the part's id u64. The answer begins with 0 or 1. After 0 comes, for
// backupOpen, JSON of an admin.BackupPart, and for backupNext the number of keys written u64 and a
// piece of the file, which is empty after its end. After 1 comes an error text.
const Kind uint8 = 35

const (
	backupOpen uint8 = iota
	backupNext
	backupTouch
	backupEnd
)

const (
	// backupPieceBytes is the maximum length of a piece.
	backupPieceBytes = 256 << 10
	// backupStallLimit is how long a part waits for its reader. Until then changed values are kept
	// twice in memory, and the shard's log cannot be truncated.
	backupStallLimit = 30 * time.Second
	// backupPaceMin is the minimum number of bytes per second since a part's first piece, not
	// counting the first minute (backupGrace). Otherwise a slow reader could keep a part for ever.
	backupPaceMin = 64 << 10
	backupGrace   = time.Minute
)

var (
	errPartUnknown = errors.New("this part of a backup is not known here any more: it was read too slowly, or to its end, or its node began anew")
	errPartSlow    = fmt.Errorf("it is read too slowly: less than %d bytes a second", backupPaceMin)
	errPartStalled = fmt.Errorf("nobody has read on for %v", backupStallLimit)
)

// Facts are what backups need from their node.
type Facts struct {
	Member *member.Member
	Log    *slog.Logger
	// Go runs a function in a goroutine that ends with Ctx. It returns false if the node is ending,
	// and then it starts nothing.
	Go  func(do func()) bool
	Ctx context.Context
}

// Backups starts backups of the cluster, and holds the parts that this node is writing now. No
// shard has more than one.
type Backups struct {
	Facts
	mu   sync.Mutex // guards open
	open map[uint64]*part
}

// New returns Backups without any part.
func New(f Facts) *Backups { return &Backups{Facts: f, open: map[uint64]*part{}} }

// part is a cut of a shard that is written while it is read.
type part struct {
	pipe *io.PipeReader
	keys atomic.Int64
	// why is the reason why it was closed before its end.
	why atomic.Pointer[error]
	// reading excludes a second reader. It is held over each read; it guards begun, pieces.
	reading sync.Mutex
	stall   *time.Timer
	// begun is when the first piece was read, pieces the total bytes of the pieces.
	begun  time.Time
	pieces int64
}

// closeFor closes a part before its end. A client that reads on gets the reason.
func (p *part) closeFor(why error) {
	p.why.CompareAndSwap(nil, &why)
	_ = p.pipe.CloseWithError(why)
}

// Serve handles a Kind request. It may block.
func (b *Backups) Serve(payload []byte, reply func([]byte)) {
	answer, err := b.backupAnswer(payload)
	if err != nil {
		reply(append([]byte{1}, err.Error()...))
		return
	}
	reply(append([]byte{0}, answer...))
}

func (b *Backups) backupAnswer(payload []byte) ([]byte, error) {
	if len(payload) == 5 && payload[0] == backupOpen {
		return b.openBackupPart(binary.LittleEndian.Uint32(payload[1:]))
	}
	if len(payload) != 9 {
		return nil, errors.New("a request about a backup makes no sense")
	}
	id := binary.LittleEndian.Uint64(payload[1:])
	b.mu.Lock()
	p := b.open[id]
	b.mu.Unlock()
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

// openBackupPart cuts a shard that this node leads and starts to write the part. The first shard's
// file has the functions and scripts, which are the same in all shards.
func (b *Backups) openBackupPart(shard uint32) ([]byte, error) {
	ctx, cancel := context.WithTimeout(b.Ctx, backupBeginTimeout)
	defer cancel()
	if !b.Member.Serving.Load() {
		return nil, errors.New("this node is still starting")
	}
	replica := b.Member.Replica(int(shard))
	if replica == nil {
		return nil, errors.New("this node has no replica of it")
	}
	snapshot, err := replica.Cut(ctx)
	if err != nil {
		return nil, err
	}
	in, out := io.Pipe()
	p := &part{pipe: in}
	id := rand.Uint64()>>12 | 1
	told := admin.BackupPart{Shard: int(shard), ID: id, Index: snapshot.Index(), StampMs: snapshot.DayMs(), Keys: snapshot.Keys()}
	p.stall = time.AfterFunc(backupStallLimit, func() { p.closeFor(errPartStalled) })
	if !b.Go(func() { b.writeBackupPart(id, p, snapshot, out, shard == 0) }) {
		p.stall.Stop()
		snapshot.Release()
		return nil, cluster.ErrShuttingDown
	}
	b.mu.Lock()
	b.open[id] = p
	b.mu.Unlock()
	return json.Marshal(told)
}

func (b *Backups) writeBackupPart(id uint64, p *part, snapshot *fsm.Snapshot, out *io.PipeWriter, programs bool) {
	stop := context.AfterFunc(b.Ctx, func() { p.closeFor(errPartUnknown) })
	err := snapshot.PersistKeys(out, programs, func(keys int) { p.keys.Add(int64(keys)) })
	snapshot.Release()
	_ = out.CloseWithError(err) // nil means the end of the file
	stop()
	if err != nil {
		b.Log.Warn("a shard was not backed up to its end", "err", err)
	}
	// The part stays known for backupStallLimit, so that its reader learns that it ended, and how.
	time.AfterFunc(backupStallLimit, func() {
		p.stall.Stop()
		b.mu.Lock()
		delete(b.open, id)
		b.mu.Unlock()
	})
}

// next returns the next piece, after the number of keys written so far.
func (p *part) next() ([]byte, error) {
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
