package client

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"lockstep/engine/acl"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/proto/pubsub"
	"lockstep/proto/stats"
)

func newWitness(log *bytes.Buffer, level slog.Level) *ScriptWitness {
	return &ScriptWitness{
		Stats: stats.New(), Registry: NewRegistry(), Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level})),
		Logs: func() (int64, int, int) { return 0, 10, 10 },
	}
}

func commandOf(t *testing.T, line string) (*command.Spec, [][]byte) {
	t.Helper()
	var args [][]byte
	for w := range strings.FieldsSeq(line) {
		args = append(args, []byte(w))
	}
	spec, _ := commands.Lookup(args)
	if spec == nil {
		t.Fatal(line)
	}
	return spec, args
}

// The commands of scripts are counted and logged as in Redis: SLOWLOG without a client's address,
// ACL LOG with the context lua.
func TestScriptsAreCounted(t *testing.T) {
	w := newWitness(&bytes.Buffer{}, slog.LevelInfo)
	set, args := commandOf(t, "set k v")
	w.Ended(command.Caller{}, w.Began(), set, args, 0, nil)
	w.Ended(command.Caller{}, w.Began(), set, args, 0, []byte("-WRONGTYPE x\r\n"))
	w.Refused(command.Caller{}, nil, set, args, command.Denial{}, []byte("-ERR x\r\n"))
	w.Refused(command.Caller{}, acl.ReadCarried("as=ann -@all"), set, args, command.Denial{Reason: command.DeniedCommand}, []byte("-NOPERM x\r\n"))
	w.Refused(command.Caller{}, acl.ReadCarried("as=ann ~x +@all"), set, args, command.Denial{Reason: command.DeniedKey, Arg: 1}, []byte("-NOPERM x\r\n"))
	if got := fmt.Sprint(w.Stats.PerCommand()); !strings.HasPrefix(got, "[{set 2 ") || !strings.HasSuffix(got, " 3 1}]") {
		t.Errorf("commandstats: %s", got)
	}
	w.Refused(command.Caller{}, nil, nil, args, command.Denial{}, []byte("-ERR unknown\r\n"))
	w.Raised([]byte("-MY own\r\n"))
	if got := fmt.Sprint(w.Stats.PerError()); got != "[{ERR 2} {MY 1} {NOPERM 2} {WRONGTYPE 1}]" {
		t.Errorf("errorstats: %s", got)
	}
	if slow := w.Stats.Slowlog.Get(-1); len(slow) != 2 || slow[0].Addr != "?:0" || fmt.Sprint(slow[0].Args) != "[set k v]" {
		t.Errorf("SLOWLOG: %+v", slow)
	}
	var denied []string
	for _, e := range w.Stats.ACLLog.Newest(10) {
		denied = append(denied, fmt.Sprintf("%s %s %s %s", e.Reason, e.Context, e.Object, e.User))
	}
	if got := strings.Join(denied, ", "); got != "key lua k ann, command lua set ann" {
		t.Errorf("ACL LOG: %s", got)
	}
}

// Notices about a script of another node's client go to that node: lines if a client monitors
// there, and refusals.
func TestCallersElsewhereAreTold(t *testing.T) {
	here, there := newWitness(&bytes.Buffer{}, slog.LevelInfo), newWitness(&bytes.Buffer{}, slog.LevelInfo)
	told := 0
	here.Self = func() uint64 { return 1 }
	here.Tell = func(node uint64, notice []byte) {
		if told++; node != 2 {
			t.Errorf("node %d was told", node)
		}
		there.Hear(notice)
		for i := range notice {
			there.Hear(notice[:i])
		}
	}
	set, args := commandOf(t, "set k v")
	ann := acl.ReadCarried("as=ann -@all")
	for _, by := range []command.Caller{{}, {Node: 1, Client: 7, Watched: true}, {Node: 2, Client: 7}} {
		here.Ended(by, here.Began(), set, args, 0, nil)
	}
	if told != 0 {
		t.Errorf("%d lines were sent to a client that does not monitor", told)
	}
	here.Ended(command.Caller{Node: 2, Client: 7, Watched: true}, here.Began(), set, args, 0, nil)
	here.Refused(command.Caller{Node: 2, Client: 7}, ann, set, args, command.Denial{Reason: command.DeniedCommand}, []byte("-NOPERM x\r\n"))
	here.Refused(command.Caller{Node: 1, Client: 7}, ann, set, args, command.Denial{Reason: command.DeniedKey, Arg: 1}, []byte("-NOPERM x\r\n"))
	if log := here.Stats.ACLLog.Newest(10); told != 2 || len(log) != 1 || log[0].Reason != "key" {
		t.Errorf("told %d times, and ACL LOG has %+v", told, log)
	}
	log := there.Stats.ACLLog.Newest(10)
	if len(log) != 1 || log[0].Count != 1 || log[0].Context != "lua" || log[0].Object != "set" || log[0].User != "ann" || log[0].Client != "addr=?:0 cmd=set" {
		t.Errorf("ACL LOG there: %+v", log)
	}
}

// redis.log reaches the log at its level, with a bounded number of lines a second.
func TestScriptsTalkWithinBounds(t *testing.T) {
	var log bytes.Buffer
	w := newWitness(&log, slog.LevelInfo)
	w.Log(1, "verbose")
	w.Log(3, "a\nb")
	if got := log.String(); strings.Contains(got, "verbose") || !strings.Contains(got, `level=WARN msg="a script says" text="a\nb"`) {
		t.Errorf("%s", got)
	}
	var l lineLimit
	admitted := 0
	for range 3 * linesMax {
		if ok, _ := l.admit(7); ok {
			admitted++
		}
	}
	ok, dropped := l.admit(8)
	if admitted != linesMax || !ok || dropped != 2*linesMax {
		t.Errorf("%d of %d are admitted, then %t, and %d were dropped", admitted, 3*linesMax, ok, dropped)
	}
	if _, dropped := l.admit(8); dropped != 0 {
		t.Errorf("%d are told of again", dropped)
	}
}

func TestScriptsPublishToAllNodes(t *testing.T) {
	w := newWitness(&bytes.Buffer{}, slog.LevelInfo)
	var got []string
	w.Deliver = func(kind pubsub.Kind, channel, payload []byte) {
		got = append(got, fmt.Sprintf("%d %s %s", kind, channel, payload))
	}
	w.Publish(false, "c", []byte("m"))
	w.Publish(true, "s", []byte("n"))
	if want := fmt.Sprintf("[%d c m %d s n]", pubsub.Channel, pubsub.Shard); fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// No argument that may be a password is shown, whatever the order of the options.
