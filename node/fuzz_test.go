package node

import (
	"io"
	"log/slog"
	"testing"

	"lockstep/node/backup"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/node/relay"
	"lockstep/node/survey"
	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// FuzzPeer sends arbitrary messages, notices of scripts and backup requests as another node would.
// The node must answer or ignore each of them.
func FuzzPeer(f *testing.F) {
	f.Add(relay.KindPublish, []byte("\x00\x02chmessage"))
	f.Add(relay.KindPublish, []byte("\x09\x01cm"))
	f.Add(relay.KindNotices, []byte("\x06\x01\x04\x00\x00\x00\x00"))
	f.Add(relay.KindNotices, []byte("\x03\x00ab\x02\x00c"))
	f.Add(backup.Kind, []byte{0, 0, 0, 0, 0})
	f.Add(backup.Kind, []byte{1, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(survey.KindPageData, []byte("-1"))
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		n := &Node{Member: &member.Member{Config: config.Default(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, lifetime: newLifetime(), stats: stats.New(), registry: client.NewRegistry()}
		defer n.stop()
		n.messages, n.notices, n.witness = relay.NewMessages(n.Member), relay.NewNotices(n.Member, func(b []byte) { n.witness.Hear(b) }), n.newWitness(n.Member, n.stats, n.registry)
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
		case survey.KindPageData:
			n.survey.ServePageData(payload, reply)
		default:
			return
		}
		if answers != 1 {
			t.Errorf("%d answers", answers)
		}
	})
}
