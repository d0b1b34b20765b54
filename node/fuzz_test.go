package node

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"lockstep/cluster/caught"
	"lockstep/node/backup"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/node/relay"
	"lockstep/node/secrets"
	"lockstep/node/survey"
	"lockstep/proto/client"
)

// FuzzPeer: whatever another node sends of messages, of what scripts did, and of backups, is
// answered or left out.
func FuzzPeer(f *testing.F) {
	f.Add(relay.KindPublish, []byte("\x00\x02chmessage"))
	f.Add(relay.KindPublish, []byte("\x09\x01cm"))
	f.Add(relay.KindNotices, []byte("\x06\x01\x04\x00\x00\x00\x00"))
	f.Add(relay.KindNotices, []byte("\x03\x00ab\x02\x00c"))
	f.Add(backup.Kind, []byte{0, 0, 0, 0, 0})
	f.Add(backup.Kind, []byte{1, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(survey.KindSight, []byte("-1"))
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		n := &Node{Member: &member.Member{}, log: slog.New(slog.NewTextHandler(io.Discard, nil)), stats: client.NewStats(), registry: client.NewRegistry(), cfg: config.Default()}
		n.ctx, n.stop = context.WithCancel(context.Background())
		defer n.stop()
		n.messages, n.notices, n.witness = relay.NewMessages(n.Member), relay.NewNotices(n.Member, func(b []byte) { n.witness.Hear(b) }), n.newWitness()
		n.survey = survey.New(survey.Facts{Member: n.Member})
		n.backups = backup.New(backup.Facts{Member: n.Member, Ctx: n.ctx})
		answers := 0
		reply := func([]byte) { answers++ }
		switch kind {
		case relay.KindPublish:
			n.messages.Serve(payload, reply)
		case relay.KindNotices:
			n.notices.Serve(payload)
			reply(nil)
		case backup.Kind:
			n.backups.Serve(payload, reply)
		case survey.KindSight:
			n.survey.ServeSight(payload, reply)
		default:
			return
		}
		if answers != 1 {
			t.Errorf("%d answers", answers)
		}
	})
}

// FuzzAdmin: whatever is asked of the admin port of a node that starts, it answers, panics
// at nothing, and takes no order: but for GET and HEAD all is refused.
func FuzzAdmin(f *testing.F) {
	for _, request := range []string{
		"GET /livez HTTP/1.1\r\nHost: n\r\n\r\n", "HEAD /readyz?verbose&leader HTTP/1.0\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost: n\r\nAccept-Encoding: gzip\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: n\r\nContent-Length: 3\r\n\r\nabc", "GET /ui/state HTTP/1.1\r\nHost: n\r\n\r\n", "GET /ui/series?recent=1 HTTP/1.1\r\nHost: n\r\n\r\n",
		"GET /debug/pprof/profile?seconds=0 HTTP/1.1\r\nHost: n\r\n\r\n", "GET /ui/../debug/pprof/cmdline HTTP/1.1\r\nHost: n\r\n\r\n", "DELETE /ui/page.js HTTP/1.1\r\nHost: n\r\nRange: bytes=-1\r\n\r\n",
		"GET /ui/page.js HTTP/1.1\r\nHost: n\r\nRange: bytes=0-1,5-9\r\nIf-None-Match: *\r\n\r\n",
	} {
		f.Add([]byte(request))
	}
	n := &Node{Member: &member.Member{}, cfg: config.Default()}
	var err error
	if n.secrets, err = secrets.Open(secrets.Facts{Config: n.cfg}); err != nil {
		f.Fatal(err)
	}
	n.survey = survey.New(survey.Facts{Member: n.Member})
	n.readiness.init(n)
	n.panics.Admin = caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	handler := n.guarded(impatient(n.adminHandler()))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return // net/http's own
		}
		r.RemoteAddr = "127.0.0.1:1" // others are refused (protected-mode)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if c := n.panics.Admin.Count(); c != 0 {
			t.Fatalf("%d panics", c)
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && w.Code < 300 {
			t.Fatalf("%s %s: %d", r.Method, r.URL, w.Code)
		}
	})
}
