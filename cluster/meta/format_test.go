package meta

import (
	"bytes"
	"testing"
)

// writtenLog is a log as format 1 writes it. Lines may be added to it, but since the first release
// none may change: logs like it are on people's disks.
var writtenLog = []string{
	`{"id":1,"kind":"create-cluster","args":{"cluster_id":"c1","cluster_version":1,"creation":{"created_ms":7,"lock_slots":16,"heartbeat_ms":1000,"election_ms":900,"seeds":["000102030405060708090a0b0c0d0e0f"]},"founder":{"id":"n1.0000000000000001","name":"n1","incarnation":1,"peer_addr":"n1:7000","client_addr":"n1:6379","version":"0.1","state":""}}}`,
	`{"id":2,"kind":"add-node","args":{"node":{"id":"n2.ffffffffffffffff","name":"n2","incarnation":18446744073709551615,"peer_addr":"n2:7000","client_addr":"n2:6379","admin_addr":"n2:8000","state":""}}}`,
	`{"id":3,"kind":"update-node","args":{"id":"n2.ffffffffffffffff","peer_addr":"m2:7000","client_addr":"m2:6379","admin_addr":"m2:8000","version":"0.2"}}`,
	`{"id":4,"kind":"mark-member","args":{"id":"n2.ffffffffffffffff"}}`,
	`{"id":5,"kind":"set-settings","args":{"set":{"a":"1","b":"2"},"unset":["b"]}}`,
	`{"id":6,"kind":"add-node","args":{"node":{"id":"n2.0000000000000003","name":"n2","incarnation":3,"peer_addr":"m2:7000","client_addr":"m2:6379","state":""},"replace":true}}`,
	`{"id":7,"kind":"detach","args":{"id":"n2.ffffffffffffffff","group":0}}`,
	`{"id":8,"kind":"detach","args":{"id":"n2.ffffffffffffffff","group":4294967295}}`,
	`{"id":9,"kind":"remove-node","args":{"id":"n1.0000000000000001","force":true,"in_favour_of":"n2.0000000000000003"}}`,
}

// writtenState is the state after that log, as a snapshot holds it.
const writtenState = `{"cluster_id":"c1","cluster_version":1,"epoch":9,"index":9,"creation":{"created_ms":7,"lock_slots":16,"heartbeat_ms":1000,"election_ms":900,"seeds":["000102030405060708090a0b0c0d0e0f"]},` +
	`"nodes":[{"id":"n1.0000000000000001","name":"n1","incarnation":1,"peer_addr":"n1:7000","client_addr":"n1:6379","version":"0.1","state":"leaving","forced":true,"replaced_by":"n2.0000000000000003"},` +
	`{"id":"n2.0000000000000003","name":"n2","incarnation":3,"peer_addr":"m2:7000","client_addr":"m2:6379","state":"joining"}],` +
	`"tombstones":[{"id":"n2.ffffffffffffffff","name":"n2","incarnation":18446744073709551615,"peer_addr":"m2:7000","client_addr":"m2:6379","admin_addr":"m2:8000","version":"0.2","state":"removed","replaced_by":"n2.0000000000000003"}],` +
	`"shards":[{"id":0,"first_slot":0,"last_slot":16383,"replicas":["n2.0000000000000003"]}],"settings":{"a":"1"},` +
	`"done":[{"id":1,"index":1,"changed":true},{"id":2,"index":2,"changed":true,"subjects":["node n2.ffffffffffffffff"]},{"id":3,"index":3,"changed":true,"subjects":["node n2.ffffffffffffffff"]},` +
	`{"id":4,"index":4,"changed":true},{"id":5,"index":5,"changed":true,"subjects":["setting a","setting b"]},{"id":6,"index":6,"changed":true,"subjects":["node n2.0000000000000003"]},` +
	`{"id":7,"index":7,"changed":true},{"id":8,"index":8,"changed":true},{"id":9,"index":9,"changed":true}]}`

func TestWhatWasWrittenStaysReadable(t *testing.T) {
	m := NewMachine()
	for i, body := range writtenLog {
		if err := m.Apply(uint64(i+1), seal(commandMagic, []byte(body))); err != nil {
			t.Fatalf("entry %d: %v", i+1, err)
		}
	}
	if got := stateOf(t, m); got != writtenState {
		t.Fatalf("the log leads to\n%s, not\n%s", got, writtenState)
	}
	restored := NewMachine()
	if err := restored.Restore(bytes.NewReader(seal(snapshotMagic, []byte(writtenState)))); err != nil {
		t.Fatal(err)
	}
	if got := stateOf(t, restored); got != writtenState {
		t.Fatalf("the snapshot holds\n%s, not\n%s", got, writtenState)
	}
}
