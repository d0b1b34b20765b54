package survey

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lockstep/cluster/meta"
	"lockstep/ground/caught"
	"lockstep/node/process"
	"lockstep/node/status"
)

// KindExamine asks a node for the facts of its machine. The answer is JSON of a status.Host.
const KindExamine uint8 = 34

const (
	// examineTimeout is how long a node may take. It is long because the examination must also find
	// a slow disk.
	examineTimeout = 10 * time.Second
	// syncsTried is how many writes are timed, and syncsWithin bounds their total time.
	syncsTried  = 16
	syncsWithin = 5 * time.Second
	probeFile   = "doctor.probe"
	probeBytes  = 4096
)

// ExamineJSON implements admin.Operator: it returns the facts of all nodes' machines.
func (v *Survey) ExamineJSON(ctx context.Context) ([]byte, error) {
	view := v.Machine.View()
	hosts := make([]status.Host, len(view.Nodes))
	var wait caught.Group
	for i, known := range view.Nodes {
		wait.Go(func() { hosts[i] = v.examine(ctx, known) })
	}
	wait.Wait()
	return json.Marshal(hosts)
}

// examine asks one node.
func (v *Survey) examine(ctx context.Context, known meta.Node) status.Host {
	var h status.Host
	if known.ID == v.Self.ID() {
		h = v.host()
	} else {
		ctx, cancel := context.WithTimeout(ctx, examineTimeout)
		defer cancel()
		// The clocks are compared first, because the examination takes long.
		ahead, unsure, err := v.compareClocks(ctx, known.PeerAddr)
		var answer []byte
		if err == nil {
			answer, err = v.Transport.Call(ctx, known.PeerAddr, KindExamine, nil)
		}
		if err == nil {
			err = json.Unmarshal(answer, &h)
		}
		if err != nil || h.ID != string(known.ID) {
			h = status.Host{}
		}
		h.AheadMs, h.UnsureMs = ahead, unsure
	}
	h.ID, h.Name = string(known.ID), known.Name
	return h
}

// clockQuestion as the payload asks only for the clock.
const clockQuestion = "clock"

// compareClocks returns how far another node's clock is ahead of this one's, give or take half the
// round-trip time.
func (v *Survey) compareClocks(ctx context.Context, addr string) (aheadMs, unsureMs float64, err error) {
	const tries = 3
	for range tries {
		asked, own := time.Now(), v.Clock.Wall()
		answer, err := v.Transport.Call(ctx, addr, KindExamine, []byte(clockQuestion))
		if err != nil {
			return 0, 0, err
		}
		half := time.Since(asked) / 2
		theirs, err := strconv.ParseInt(string(answer), 10, 64)
		if err != nil {
			return 0, 0, err
		}
		if u := float64(half.Microseconds()) / 1000; unsureMs == 0 || u < unsureMs {
			aheadMs, unsureMs = float64(time.Unix(0, theirs).Sub(own.Add(half)).Microseconds())/1000, u
		}
	}
	return aheadMs, unsureMs, nil
}

// ServeExamine answers KindExamine.
func (v *Survey) ServeExamine(payload []byte, reply func([]byte)) {
	if string(payload) == clockQuestion {
		reply(strconv.AppendInt(nil, v.Clock.Wall().UnixNano(), 10))
		return
	}
	h := v.host()
	data, _ := json.Marshal(&h)
	reply(data)
}

// host describes this node's machine.
func (v *Survey) host() status.Host {
	s := v.Config.Current()
	h := status.Host{
		ID: string(v.Self.ID()), Name: v.Self.Name, Reachable: true, ClockMs: v.Clock.Wall().UnixMilli(),
		Files: -1, FilesOpen: -1, DiskFreeBytes: -1, DiskBytes: -1, MaxClients: int64(s.MaxClients),
		Overcommit: numberIn("/proc/sys/vm/overcommit_memory"), Backlog: numberIn("/proc/sys/net/core/somaxconn"),
		HugePages:   chosenIn("/sys/kernel/mm/transparent_hugepage/enabled"),
		MemoryBytes: process.MemoryMost(), MaxMemoryBytes: s.Engine.MemoryBytesMax,
	}
	v.certificates(&h)
	h.Secret = v.Secret()
	v.probing.Lock()
	h.SyncUs = syncTimes(v.Folder.Dir())
	v.probing.Unlock()
	h.DiskFreeBytes, h.DiskBytes, _ = process.Disk(v.Folder.Dir())
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		h.Files = int64(min(files.Cur, 1<<62))
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.FilesOpen = int64(len(open))
	}
	return h
}

// syncTimes writes blocks to a file of the data folder and measures how long each takes until it is
// on disk. It returns none if that is not possible.
func syncTimes(dir string) []int64 {
	path := filepath.Join(dir, probeFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	defer os.Remove(path)
	defer f.Close()
	var took []int64
	block := make([]byte, probeBytes)
	for began := time.Now(); len(took) < syncsTried && time.Since(began) < syncsWithin; {
		at := time.Now()
		if _, err := f.Write(block); err != nil {
			return took
		}
		if err := f.Sync(); err != nil {
			return took
		}
		took = append(took, time.Since(at).Microseconds())
	}
	slices.Sort(took)
	return took
}

// numberIn reads a number from a file of the kernel. It returns -1 if there is none.
func numberIn(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return -1
	}
	return v
}

// chosenIn reads the word in brackets from a list in a file of the kernel.
func chosenIn(path string) string {
	text, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(text), "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}

// certificates adds the certificates of this node.
func (v *Survey) certificates(h *status.Host) {
	if v.TLS == nil {
		return
	}
	r := v.TLS.Report()
	h.TLSProblem = r.Problem
	for _, c := range r.Certificates {
		h.Certificates = append(h.Certificates, status.Certificate{Use: c.Use, File: c.File, Subject: c.Subject, ExpiresMs: c.NotAfter.UnixMilli()})
	}
}
