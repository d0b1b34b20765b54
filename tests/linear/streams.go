package linear

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	// streamGroup is the group of consumers of every stream.
	streamGroup = "g"
	// streamEntriesMax is more than the number of entries that a run adds to a stream.
	streamEntriesMax = "1000000"
)

// makeStreams creates the streams and their groups.
func (w *workload) makeStreams() {
	for i := range streams {
		proc.Poll(proc.ElectionPatience, func() bool {
			_, err := proc.Ask(w.cluster.Nodes[0].Addr(), "XGROUP", "CREATE", fmt.Sprint(streamPrefix, i), streamGroup, "0", "MKSTREAM")
			return err == nil || strings.Contains(err.Error(), "BUSYGROUP")
		})
	}
}

// takeEntry reads one entry for the group, with or without blocking, and acknowledges it. The op is
// the read, whose reply is the entry's id and value. The acknowledgement is an op of its own.
func (w *workload) takeEntry(conn *respconn.Conn, o *Op) (respconn.Value, error) {
	args := []string{"XREADGROUP", "GROUP", streamGroup, strconv.Itoa(o.Client), "COUNT", "1"}
	if o.Arg != "" {
		args = append(args, "BLOCK", o.Arg)
	}
	v, err := conn.Do(append(args, "STREAMS", o.Key, ">")...)
	if err != nil || v.IsError() || v.Null {
		return v, err
	}
	all, err := entriesOf(v.Elems[0].Elems[1])
	if err != nil || len(all) != 1 {
		return v, fmt.Errorf("XREADGROUP of one entry: %s (%v)", v, err)
	}
	got := respconn.Value{Kind: '$', Bytes: []byte(all[0].String())}
	taken, ack := *o, Op{Client: o.Client, Node: o.Node, Name: opEntryAck, Key: o.Key, Arg: all[0].id, Call: w.history.Now()}
	taken.Return = ack.Call
	if v, err = conn.Do("XACK", o.Key, streamGroup, ack.Arg); err != nil {
		// The read was answered, and only the acknowledgement is unknown.
		w.judge(&taken, got)
		w.history.Add(taken)
		*o = ack
		return v, err
	}
	ack.Return = w.history.Now()
	w.judge(&ack, v)
	w.history.Add(ack)
	return got, nil
}

// entry is an entry of a stream.
type entry struct{ id, value string }

func (e entry) String() string { return e.id + " " + e.value }

// entriesOf parses entries of one field each.
func entriesOf(v respconn.Value) (all []entry, err error) {
	for _, e := range v.Elems {
		if len(e.Elems) != 2 || len(e.Elems[1].Elems) != 2 {
			return nil, fmt.Errorf("no entry: %s", e)
		}
		all = append(all, entry{string(e.Elems[0].Bytes), string(e.Elems[1].Elems[1].Bytes)})
	}
	return all, nil
}

// streamVerdict sums up a stream's history.
type streamVerdict struct {
	key                                 string
	entries, given, acked, pending, odd int
}

func (v streamVerdict) String() string {
	return fmt.Sprintf("%s: %d entries, %d given out, %d acknowledged, %d pending, %d of them to nobody who knows", v.key, v.entries, v.given, v.acked, v.pending, v.odd)
}

// streamHistory is the history of a stream's entries.
type streamHistory struct {
	// adds are by value, takes and acks by id.
	adds, takes, acks map[string]*Op
	// lostTakes is the number of reads with an unknown outcome.
	lostTakes int
}

// checkStream checks a stream with one group of consumers, given its entries at the end, in order,
// and the pending ids. Each entry is there once, under the id of the reply, in the order of time.
// Each is given out once, in the order of the stream, and none is left out. An entry is pending
// until it is acknowledged, which happens once.
func checkStream(key string, history []Op, entries []entry, pending []string) (streamVerdict, error) {
	v := streamVerdict{key: key, entries: len(entries), pending: len(pending)}
	h := streamHistory{map[string]*Op{}, map[string]*Op{}, map[string]*Op{}, 0}
	for i := range history {
		if o := &history[i]; o.Key == key && o.Outcome != Refused {
			if err := h.note(o); err != nil {
				return v, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	v.given, v.acked = len(h.takes), len(h.acks)
	if err := h.checkEntries(entries); err != nil {
		return v, fmt.Errorf("%s: %w", key, err)
	}
	var err error
	if v.odd, err = h.checkGroup(entries, pending); err != nil {
		err = fmt.Errorf("%s: %w", key, err)
	}
	return v, err
}

func (h *streamHistory) note(o *Op) error {
	switch {
	case o.Name == opEntryAdd:
		h.adds[o.Arg] = o
	case o.Name == opEntryAck:
		if o.Outcome == Done && o.Reply != "1" {
			return fmt.Errorf("%+v: it was not pending", *o)
		}
		h.acks[o.Arg] = o
	case o.Outcome == Unknown:
		h.lostTakes++
	case !o.Null:
		id, _, _ := strings.Cut(o.Reply, " ")
		if twice := h.takes[id]; twice != nil {
			return fmt.Errorf("given out twice: %+v and %+v", *twice, *o)
		}
		h.takes[id] = o
	}
	return nil
}

// checkEntries compares the stream's entries with the adds.
func (h *streamHistory) checkEntries(entries []entry) error {
	there := map[string]bool{}
	var order []*Op
	for _, e := range entries {
		add := h.adds[e.value]
		switch {
		case add == nil:
			return fmt.Errorf("%s is there, and nobody added it", e)
		case there[e.value]:
			return fmt.Errorf("%s is there twice", e)
		case add.Outcome == Done && add.Reply != e.id:
			return fmt.Errorf("%s is there, and was answered another id: %+v", e, *add)
		}
		there[e.value] = true
		if add.Outcome == Done {
			order = append(order, add)
		}
	}
	for value, add := range h.adds {
		if add.Outcome == Done && !there[value] {
			return fmt.Errorf("%s is not there: %+v", value, *add)
		}
	}
	return againstTime(order)
}

// checkGroup checks which entries were given out, and which are pending.
func (h *streamHistory) checkGroup(entries []entry, pending []string) (odd int, err error) {
	waits := map[string]bool{}
	for _, id := range pending {
		waits[id] = true
	}
	var order []*Op
	// passed means that a later entry was given out.
	passed := false
	for _, e := range slices.Backward(entries) {
		take, ack := h.takes[e.id], h.acks[e.id]
		switch {
		case take == nil && waits[e.id]:
			odd++
		case take == nil && passed:
			return odd, fmt.Errorf("%s was passed over", e)
		case take == nil:
		case take.Reply != e.String():
			return odd, fmt.Errorf("%s was given out as %+v", e, *take)
		case waits[e.id] && ack != nil && ack.Outcome == Done:
			return odd, fmt.Errorf("%s is pending, and was acknowledged: %+v", e, *ack)
		case !waits[e.id] && ack == nil:
			return odd, fmt.Errorf("%s is not pending, and was not acknowledged: %+v", e, *take)
		}
		if take != nil {
			order = append(order, take)
		}
		passed = passed || take != nil || waits[e.id]
		delete(waits, e.id)
	}
	switch {
	case len(waits) > 0:
		return odd, fmt.Errorf("%d are pending that are not there", len(waits))
	case odd > h.lostTakes:
		return odd, fmt.Errorf("%d are pending that nobody was given, and %d readings are of unknown outcome", odd, h.lostTakes)
	}
	slices.Reverse(order)
	return odd, againstTime(order)
}

// againstTime finds an op that returned before an op was called that is ahead of it in the order.
func againstTime(order []*Op) error {
	var latest *Op
	for _, o := range order {
		if latest != nil && o.Return < latest.Call {
			return fmt.Errorf("%+v was answered before %+v began, which comes first", *o, *latest)
		}
		if latest == nil || o.Call > latest.Call {
			latest = o
		}
	}
	return nil
}

// finalStream reads a stream at the end and checks its history.
func finalStream(conn *respconn.Conn, key string, ops []Op) (fmt.Stringer, error) {
	v, err := conn.Do("XRANGE", key, "-", "+")
	if err != nil || v.IsError() {
		return nil, fmt.Errorf("%s: %s, %w", key, v, err)
	}
	entries, err := entriesOf(v)
	if err != nil {
		return nil, err
	}
	if v, err = conn.Do("XPENDING", key, streamGroup, "-", "+", streamEntriesMax); err != nil || v.IsError() {
		return nil, fmt.Errorf("%s: %s, %w", key, v, err)
	}
	var pending []string
	for _, p := range v.Elems {
		pending = append(pending, string(p.Elems[0].Bytes))
	}
	return checkStream(key, ops, entries, pending)
}
