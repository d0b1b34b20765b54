package meta

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzCommand: whatever a command contains, the machine refuses or applies it, and its state can
// then be written and read again. A node that proposes the command does not put it into the log if
// it would stop every node.
func FuzzCommand(f *testing.F) {
	for _, body := range writtenLog {
		var c frame
		if err := json.Unmarshal([]byte(body), &c); err != nil {
			f.Fatal(err)
		}
		f.Add(c.Kind, []byte(c.Args))
	}
	for kind, args := range map[string]string{
		"set-replicas": `{"count":3}`, "place-replica": `{"shard":0,"was":["n1.0000000000000001"],"add":"n2.ffffffffffffffff"}`,
		"let-go": `{"shard":0,"node":"n1.0000000000000001","since":3}`, "dropped": `{"shard":0,"node":"n1.0000000000000001","since":3}`,
		"mark-drained": `{"id":"n1.0000000000000001","drained":true}`, "promote-node": `{"id":"n1.0000000000000001"}`,
		"change-users": `{"after":0,"set":[{"name":"\"ann\"","rules":"\"on nopass\""}],"delete":["\"bob\""]}`, "raise-version": `{"to":1}`,
	} {
		f.Add(kind, []byte(args))
	}
	f.Fuzz(func(t *testing.T, kind string, args []byte) {
		c := frame{ID: 7, Kind: kind, Args: args}
		data, err := c.encode()
		if err != nil {
			return
		}
		_, understood := c.command()
		m := NewMachine()
		for i, body := range writtenLog[:3] {
			if err := m.Apply(uint64(i+1), seal(commandMagic, []byte(body))); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Apply(9, data); err != nil {
			// A cluster version that is newer than the program knows stops the machine.
			if understood == nil && kind != "raise-version" && kind != "create-cluster" {
				t.Fatalf("it was understood, and stops the machine: %v", err)
			}
			return
		}
		var image bytes.Buffer
		if err := (snapshot{m.View()}).Persist(&image); err != nil {
			t.Fatal(err)
		}
		if err := NewMachine().Restore(&image); err != nil {
			t.Fatalf("its state cannot be read: %v", err)
		}
	})
}

// FuzzSnapshot: whatever a snapshot contains, the machine refuses or reads it.
func FuzzSnapshot(f *testing.F) {
	f.Add([]byte(writtenState))
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = NewMachine().Restore(bytes.NewReader(body))
		m := NewMachine()
		if m.Restore(bytes.NewReader(seal(snapshotMagic, body))) != nil {
			return
		}
		v := m.View()
		for _, slot := range []uint16{0, 8000, 16383} {
			if n := v.ShardOfSlot(slot); n < 0 || n >= MaxShards {
				t.Fatalf("slot %d is in shard %d", slot, n)
			}
		}
		_, _ = v.Lookup("n1")
		_ = v.Live()
		_ = v.Layout()
	})
}
