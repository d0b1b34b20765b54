package client

import (
	"encoding/binary"

	"lockstep/proto/acl"
)

// A notice reports to the node of a script's caller what the script did on another node. Its first
// byte is the kind:
//
//	noticeLine     a line of MONITOR
//	noticeRefusal  client uv, then reason, object, user and client-info, each behind
//	               its length uv
const (
	noticeLine byte = iota + 1
	noticeRefusal
)

func lineNotice(l line) []byte { return append([]byte{noticeLine}, l...) }

func refusalNotice(client uint64, e *acl.Entry) []byte {
	b := binary.AppendUvarint([]byte{noticeRefusal}, client)
	for _, text := range []string{e.Reason, e.Object, e.User, e.Client} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// Hear handles a notice of another node. It ignores unknown kinds. The caller must not change the
// notice afterwards.
func (w *ScriptWitness) Hear(notice []byte) {
	if len(notice) == 0 {
		return
	}
	switch rest := notice[1:]; notice[0] {
	case noticeLine:
		if all := w.Registry.monitors.all.Load(); all != nil {
			showLine(*all, rest)
		}
	case noticeRefusal:
		w.hearRefusal(rest)
	}
}

func (w *ScriptWitness) hearRefusal(b []byte) {
	client, width := binary.Uvarint(b)
	if width <= 0 {
		return
	}
	b = b[width:]
	e := acl.Entry{Context: scriptAddr}
	for _, text := range []*string{&e.Reason, &e.Object, &e.User, &e.Client} {
		n, width := binary.Uvarint(b)
		if width <= 0 || n > uint64(len(b)-width) {
			return
		}
		end := width + int(n)
		*text, b = string(b[width:end]), b[end:]
	}
	w.refused(client, e)
}
