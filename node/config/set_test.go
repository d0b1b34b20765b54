package config

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"lockstep/fsm"
)

func TestConfigSetIsAllOrNothing(t *testing.T) {
	c := Default()
	before := c.Current()
	if err := c.Set([]Pair{{"timeout", "5"}, {"maxclients", "0"}}); err == nil {
		t.Fatal("no error")
	}
	if c.Current() != before {
		t.Error("a failed CONFIG SET changed something")
	}
	if err := c.Set([]Pair{{"timeout", "5"}, {"MAXCLIENTS", "77"}}); err != nil {
		t.Fatal(err)
	}
	if s := c.Current(); s.TimeoutSeconds != 5 || s.MaxClients != 77 || before.MaxClients != 10000 {
		t.Errorf("now %d %d, the old settings say %d", s.TimeoutSeconds, s.MaxClients, before.MaxClients)
	}
}

func TestConfigSetRefusesWhatCannotBe(t *testing.T) {
	c := Default()
	for _, p := range []struct{ name, value, want string }{
		{"appendonly", "no", "ERR CONFIG SET failed (possibly related to argument 'appendonly') - every write is in the Raft log; there is no mode without one"},
		{"appendfsync", "no", "ERR CONFIG SET failed (possibly related to argument 'appendfsync') - every write is fsynced on a quorum of disks before it is acknowledged"},
		{"replicaof", "a 1", "ERR CONFIG SET failed (possibly related to argument 'replicaof') - can't set immutable config"},
		{"dir", "/tmp", "ERR CONFIG SET failed (possibly related to argument 'dir') - can't set protected config"},
		{"rename-command", "a b", "ERR Unknown option or number of arguments for CONFIG SET - 'rename-command'"},
		{"client-query-buffer-limit", "1mb", "ERR CONFIG SET failed (possibly related to argument 'client-query-buffer-limit') - client-query-buffer-limit 1048576 is less than proto-max-bulk-len 61865984: the largest argument would not fit"},
	} {
		if err := c.Set([]Pair{{p.name, p.value}}); err == nil || err.Error() != p.want {
			t.Errorf("%s %s: %v", p.name, p.value, err)
		}
	}
	for _, p := range []Pair{{"appendonly", "yes"}, {"save", ""}, {"save", "3600 1"}, {"hz", "50"}} {
		if err := c.Set([]Pair{p}); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	if got := c.Get("save"); got[0].Value != "3600 1" {
		t.Errorf("an ignored directive is not shown as it was set: %v", got)
	}
}

func TestReplicatedSettingsGoThroughTheLog(t *testing.T) {
	c := Default()
	var sent []Pair
	c.ReplicateWith(func(pairs []Pair) error {
		sent = pairs
		c.ApplyReplicated(pairs)
		return nil
	})
	if err := c.Set([]Pair{{"proto-max-bulk-len", "1mb"}, {"timeout", "3"}}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sent, []Pair{{"proto-max-bulk-len", "1mb"}}) {
		t.Errorf("into the log went %v", sent)
	}
	if s := c.Current(); s.ProtoMaxBulkLen != 1<<20 || s.TimeoutSeconds != 3 {
		t.Errorf("proto-max-bulk-len %d timeout %d", s.ProtoMaxBulkLen, s.TimeoutSeconds)
	}
	c.ReplicateWith(func([]Pair) error { return errors.New("CLUSTERDOWN no leader") })
	err := c.Set([]Pair{{"timeout", "9"}, {"proto-max-bulk-len", "2mb"}})
	if err == nil || err.Error() != "CLUSTERDOWN no leader" || c.Current().TimeoutSeconds != 3 {
		t.Errorf("without a log: %v, timeout %d", err, c.Current().TimeoutSeconds)
	}
}

func TestLogOfALaterVersionIsTakenAsFarAsItIsKnown(t *testing.T) {
	c := Default()
	var warnings []Warning
	c.OnWarning(func(w Warning) { warnings = append(warnings, w) })
	c.ApplyReplicated([]Pair{{"new-thing", "1"}, {"proto-max-bulk-len", "9 eggs"}, {"port", "1"}, {"read-mode", "quorum"}})
	if s := c.Current(); s.ReadMode != ReadQuorum || s.ProtoMaxBulkLen != fsm.ValueBytesMax || s.Port != 6379 {
		t.Errorf("%v %d %d", s.ReadMode, s.ProtoMaxBulkLen, s.Port)
	}
	if len(warnings) != 3 {
		t.Errorf("warnings %v", warnings)
	}
}

func TestWatchersHearChangesInOrder(t *testing.T) {
	c := Default()
	var heard []int
	c.OnChange("maxclients", func(s *Settings) { heard = append(heard, s.MaxClients) })
	for _, p := range []Pair{{"maxclients", "1"}, {"maxclients", "1"}, {"timeout", "9"}, {"maxclients", "2"}} {
		if err := c.Set([]Pair{p}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(heard, []int{1, 2}) {
		t.Errorf("heard %v", heard)
	}
}

func TestReadersSeeWholeChangesOnly(t *testing.T) {
	c := Default()
	if err := c.Set([]Pair{{"timeout", "0"}, {"tcp-keepalive", "0"}}); err != nil {
		t.Fatal(err)
	}
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if s := c.Current(); s.TimeoutSeconds != s.TCPKeepaliveSeconds {
				t.Errorf("half a change: %d %d", s.TimeoutSeconds, s.TCPKeepaliveSeconds)
				return
			}
		}
	})
	for _, v := range []string{"1", "2", "3", "4"} {
		writers.Go(func() {
			for range 200 {
				if err := c.Set([]Pair{{"timeout", v}, {"tcp-keepalive", v}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

func TestConfigGetAnswersPatternsOnceEach(t *testing.T) {
	c := Default()
	if got := c.Get("maxclients", "maxcl*", "MAXCLIENTS"); !slices.Equal(got, []Pair{{"maxclients", "10000"}}) {
		t.Errorf("%v", got)
	}
	if got := c.Get("TimeOut"); !slices.Equal(got, []Pair{{"TimeOut", "0"}}) {
		t.Errorf("%v", got)
	}
	if got := c.Get("SLOWLOG-*"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := c.Get("slowlog-[^l]*"); !slices.Equal(got, []Pair{{"slowlog-max-len", "128"}}) {
		t.Errorf("%v", got)
	}
	if got := c.Get("no-such", "include", "rename-command"); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := c.Get("replica-priority", "slave-priority"); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func BenchmarkCurrent(b *testing.B) {
	c := Default()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if c.Current().MaxClients == 0 {
				b.Fail()
			}
		}
	})
}
