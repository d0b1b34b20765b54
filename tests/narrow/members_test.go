package narrow

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// member is a node of a cluster as its clients see it.
type member struct {
	name, addr string
	// password is what a client sends first. If it is empty, the client sends none.
	password string
}

func (m member) dial() (*respconn.Conn, error) {
	c, err := respconn.DialTimeout(m.addr, patience)
	if err != nil || m.password == "" {
		return c, err
	}
	if v, err := c.Do("AUTH", m.password); err != nil || v.IsError() {
		c.Close()
		return nil, fmt.Errorf("AUTH: %s, %v", v, err)
	}
	return c, nil
}

// ask sends one command over a new connection and returns the text of the reply.
func (m member) ask(args ...string) (string, error) {
	c, err := m.dial()
	if err != nil {
		return "", err
	}
	defer c.Close()
	v, err := c.Do(args...)
	if err != nil {
		return "", err
	}
	return v.Text()
}

// lead makes a node the leader of all groups.
func (m member) lead(t *testing.T) {
	t.Helper()
	proc.Wait(t, patience, m.name+" leads everything", func() bool {
		_, err := m.ask("LOCKSTEP", "TRANSFER", "all", m.name)
		return err == nil
	})
}

// setLong sets a key to a value of longBytes, and returns a channel that gets the reply.
func (m member) setLong(t *testing.T, key string) <-chan string {
	t.Helper()
	c, err := m.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	reply := make(chan string, 1)
	go func() {
		v, err := c.Do("SET", key, strings.Repeat("x", longBytes))
		if err != nil {
			reply <- err.Error()
			return
		}
		reply <- v.String()
	}()
	return reply
}

// terms returns the terms of all groups on all nodes, as one node knows them.
func (m member) terms() map[string]uint64 {
	text, err := m.ask("LOCKSTEP", "STATUS")
	s := &status.Cluster{}
	if err != nil || json.Unmarshal([]byte(text), s) != nil {
		return nil
	}
	all := map[string]uint64{}
	for i := range s.Nodes {
		for _, g := range s.Nodes[i].Groups {
			all[s.Nodes[i].Name+" "+g.Name] = g.Term
		}
	}
	return all
}

// sameTerms checks that there was no election since before.
func (m member) sameTerms(t *testing.T, before map[string]uint64) {
	t.Helper()
	if after := m.terms(); len(before) == 0 || !maps.Equal(before, after) {
		t.Errorf("the terms were %v and are %v", before, after)
	}
}

// awaitLong waits until the long value is there, and checks that every member takes writes.
func awaitLong(t *testing.T, all []member, key string) {
	t.Helper()
	proc.Wait(t, patience, key+" is there", func() bool {
		n, err := all[0].ask("STRLEN", key)
		return err == nil && n == strconv.Itoa(longBytes)
	})
	for _, m := range all {
		if said, err := m.ask("SET", "after:"+key, m.name); err != nil {
			t.Fatalf("behind the long command %s says %q, %v", m.name, said, err)
		}
	}
}

// writers set a small key each, through a member of their own, one write after the other.
type writers struct {
	stop chan struct{}
	wait sync.WaitGroup

	mu      sync.Mutex
	replies map[string]int
	// longest is the longest wait for a reply by member.
	longest map[string]time.Duration
}

func write(all []member) *writers {
	w := &writers{stop: make(chan struct{}), replies: map[string]int{}, longest: map[string]time.Duration{}}
	for _, m := range all {
		w.wait.Go(func() { w.run(m) })
	}
	return w
}

func (w *writers) run(m member) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		began := time.Now()
		reply, err := m.ask("SET", "small:"+m.name, "1")
		if err != nil {
			reply = err.Error()
		}
		word, _, _ := strings.Cut(strings.TrimPrefix(reply, "error reply: "), " ")
		w.mu.Lock()
		w.replies[m.name+" "+word]++
		w.longest[m.name] = max(w.longest[m.name], time.Since(began).Round(time.Millisecond))
		w.mu.Unlock()
	}
}

// end stops the writers. It checks that every reply says that the write was done, was not done, or
// may have been done.
func (w *writers) end(t *testing.T) {
	t.Helper()
	close(w.stop)
	w.wait.Wait()
	t.Logf("others were told %v; their longest waits were %v", w.replies, w.longest)
	for reply := range w.replies {
		if _, word, _ := strings.Cut(reply, " "); word != "OK" && word != "INDETERMINATE" && word != "CLUSTERDOWN" {
			t.Errorf("a writer was told %q", reply)
		}
	}
}
