package membership

import (
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/ground/caught"
)

// lost returns the admission of a node that knows no leader.
func lost(t *testing.T) *Admission {
	c := leaderrpc.New(leaderrpc.Config{
		Leader: func(uint32) (string, bool) { return "", false },
		Peers:  func() []string { return nil },
	})
	t.Cleanup(c.Close)
	m := meta.NewMachine()
	return NewAdmission(AdmissionConfig{Self: "d.1", Meta: meta.NewClient(m, nil, c, nil), LeaderRPC: c})
}

func TestAdmissionIsBounded(t *testing.T) {
	d := lost(t)
	answers := make(chan knockAnswer, 2*knocksMax)
	serve := func(payload []byte) {
		d.Serve(Visitor{}, payload, func(b []byte) {
			var a knockAnswer
			if err := json.Unmarshal(b, &a); err != nil {
				t.Error(err)
			}
			answers <- a
		})
	}
	join := []byte(`{"verb":"join","body":{}}`)
	for range knocksMax {
		serve(join)
	}
	serve(join)
	if a := <-answers; a.Again != "this node has no time for joins now" {
		t.Fatalf("%+v", a)
	}
	serve([]byte(`{"verb":"standing","body":{"node":"a.1"}}`))
	if a := <-answers; a.Body == nil {
		t.Fatalf("joins hold up the rest: %+v", a)
	}
	d.cfg.LeaderRPC.Close() // makes the waiting ones give up
	d.Close()
	for range knocksMax {
		if a := <-answers; a.Again == "" {
			t.Fatalf("%+v", a)
		}
	}
	serve(join)
	if a := <-answers; a.Again == "" {
		t.Fatalf("open after it was closed: %+v", a)
	}
}

func TestGarbageToAdmissionIsRefused(t *testing.T) {
	d := lost(t)
	for _, payload := range []string{"", "\xff", "[]", `{"verb":"fly"}`, `{"verb":"standing","body":"a.1"}`, `{"verb":"standing","body":{}}`} {
		answered := false
		d.Serve(Visitor{}, []byte(payload), func(b []byte) {
			var a knockAnswer
			answered = json.Unmarshal(b, &a) == nil && a.Refusal != nil
		})
		if !answered {
			t.Errorf("%q was not refused", payload)
		}
	}
}

// Admission believes a new address only from a member that reports its own.
func TestAdmissionNotesWhereMembersAre(t *testing.T) {
	d := lost(t)
	met := map[meta.NodeID]string{}
	d.cfg.LearnAddress = func(id meta.NodeID, addr string) { met[id] = addr }
	question := []byte(`{"verb":"standing","body":{"node":"a.1","peer_addr":"new:1"}}`)
	for _, from := range []meta.NodeID{"", "b.1"} {
		d.Serve(Visitor{Member: from}, question, func([]byte) {})
		if len(met) > 0 {
			t.Fatalf("%q was believed: %v", from, met)
		}
	}
	var a knockAnswer
	var s Standing
	d.Serve(Visitor{Member: "a.1"}, question, func(b []byte) {
		if json.Unmarshal(b, &a) != nil || json.Unmarshal(a.Body, &s) != nil {
			t.Errorf("%s", b)
		}
	})
	if met["a.1"] != "new:1" || s.By != "d.1" {
		t.Fatalf("%v, %+v", met, s)
	}
}

// TestAJoinThatPanicsEndsAlone: the knocking node gets an answer, and its place becomes free.
func TestAJoinThatPanicsEndsAlone(t *testing.T) {
	panics := caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	d := NewAdmission(AdmissionConfig{Self: "d.1", Panics: panics}) // without a leaderrpc.Client
	for range 2 * knocksMax {
		answers := make(chan []byte, 1)
		d.Serve(Visitor{}, []byte(`{"verb":"join","body":{}}`), func(b []byte) { answers <- b })
		var a knockAnswer
		if err := json.Unmarshal(<-answers, &a); err != nil || a.Again == "" || a.Again == "this node has no time for joins now" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	d.Close()
	if n := panics.Count(); n != 2*knocksMax || d.open != 0 {
		t.Errorf("%d panics are counted, %d joins are open", n, d.open)
	}
}

// A node without the cluster's secret is let in only if it may hand out the secret, and then
// gets it.
func TestAdmissionHandsTheSecretOnWhereItMay(t *testing.T) {
	join := []byte(`{"verb":"join","body":{}}`)
	for name, secret := range map[string]func() string{"nobody hands it on": nil, "it is not handed on now": func() string { return "" }} {
		d := lost(t)
		d.cfg.Secret = secret
		var a knockAnswer
		d.Serve(Visitor{Unproved: true}, join, func(b []byte) {
			if err := json.Unmarshal(b, &a); err != nil {
				t.Error(err)
			}
		})
		if a.Again != "this node takes in nobody who does not know the cluster's secret" || d.open > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	body, err := handed(json.RawMessage(`{"cluster_id":"c","epoch":7}`), "what-nobody-else-knows")
	var w Welcome
	if err != nil || json.Unmarshal(body, &w) != nil || w.Secret != "what-nobody-else-knows" || w.ClusterID != "c" || w.Epoch != 7 {
		t.Errorf("%s, %v", body, err)
	}
}
