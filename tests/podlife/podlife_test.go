package podlife

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/lan"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/writers"
)

func TestMain(m *testing.M) { proc.Main(m) }

// writersUsual is how many clients write, and writesUsual how many writes of each
// must be acknowledged after a change.
const (
	writersUsual = 4
	writesUsual  = 50
)

// story is a release and the events in its life, with clients that write.
type story struct {
	*testing.T
	*set
	load    *writers.Writers
	cluster string
}

// begin founds a cluster of three pods, of which the first one must wait for the others, and starts
// the writing clients.
func begin(t *testing.T, values string) *story {
	t.Helper()
	s := newSet(t, values)
	s.create(1)
	proc.Wait(t, patience, "one of three waits for the others and says so", func() bool {
		return strings.Contains(s.claim(1).log(), "1 of 3 expected nodes are there")
	})
	lone := s.pod(1)
	if lone.probe(s.chart.node.ReadinessProbe) == nil || lone.probe(s.chart.node.StartupProbe) == nil {
		t.Error("a pod that has no cluster says that it is ready, or has started")
	}
	if err := lone.probe(s.chart.node.LivenessProbe); err != nil {
		t.Errorf("a pod that waits for others would be restarted: %v", err)
	}
	if _, err := s.dial(s.client(lone.leg.Addr)); err == nil {
		t.Error("one of three serves clients")
	}
	s.create(2, 0)
	s.whole(3)
	if !strings.Contains(s.claim(0).log(), "founds it") || strings.Contains(s.claim(1).log()+s.claim(2).log(), "founds it") {
		t.Error("another pod than the one with the lowest name has founded the cluster")
	}
	b := &story{T: t, set: s, load: writers.Begin(t, writersUsual, s.connect), cluster: s.status(s.pod(0)).ClusterID}
	b.load.Advance(writesUsual)
	b.load.Tell()
	return b
}

// then waits until the cluster has that many members and is healthy, and until the clients
// continue. It logs their pauses and errors. If strict is set, an error fails the test.
func (b *story) then(what string, replicas int, strict bool, began time.Time) {
	b.Helper()
	b.whole(replicas)
	b.load.GoOn(what, time.Since(began), writesUsual, strict)
}

// end reads everything back.
func (b *story) end() {
	b.Helper()
	for i := range b.ordinals() {
		if id := b.status(b.pod(i)).ClusterID; id != b.cluster {
			b.Errorf("%s belongs to cluster %s, not %s", b.pod(i).name, id, b.cluster)
		}
	}
	b.load.Verify(b.servers())
}

// TestPodsComeAndGo is the short story.
func TestPodsComeAndGo(t *testing.T) {
	b := begin(t, "default")

	began := time.Now()
	slowest := b.roll(3)
	b.Logf("the slowest end of a pod took %v of %v", slowest.Round(100*time.Millisecond), b.chart.grace)
	b.then("rolling restart", 3, true, began)

	began = time.Now()
	b.crash(0)
	b.claim(0).wipe()
	b.create(0)
	b.then("kill -9, same name, empty volume", 3, false, began)

	began = time.Now()
	b.crash(0, 1, 2)
	b.create(2, 0, 1)
	b.then("all pods killed at once, back with new addresses", 3, false, began)
	b.end()
}

// long skips tests that do not run every day.
func long(t *testing.T) {
	t.Helper()
	if !proc.Long() {
		proc.Skip(t, "LOCKSTEP_LONG=1 plays the other stories, too (make podlife)")
	}
}

// TestScale goes from 3 pods to 5, 3, 1 and 3, as the chart does: members are removed before their
// pods.
func TestScale(t *testing.T) {
	long(t)
	b := begin(t, "default")
	for _, replicas := range []int{5, 3, 1, 3} {
		began := time.Now()
		b.upgrade(replicas)
		b.then("helm upgrade to "+b.size(), replicas, true, began)
	}
	if !strings.Contains(b.claim(1).log(), "its data is set aside, and a new node begins here") {
		t.Error("the pod that came back with its old volume does not say what became of the data")
	}
	b.end()
}

// TestKubectlScale: pods go while they are members. From 5 to 3 the cluster keeps working, and
// clusterctl scale repairs it afterwards. From 3 to 1 it stops, until the pods are back.
func TestKubectlScale(t *testing.T) {
	long(t)
	b := begin(t, "default")
	b.upgrade(5)
	began := time.Now()
	b.shrink(3)
	b.load.Advance(writesUsual)
	b.chart.resize(3)
	if out, err := b.job(); err != nil {
		t.Fatalf("clusterctl scale: %v\n%s", err, out)
	}
	b.then("kubectl scale from 5 to 3, clusterctl scale behind it", 3, false, began)

	began = time.Now()
	b.shrink(1)
	proc.Wait(t, patience, "one of three is not ready", func() bool { return !b.pod(0).isReady() })
	if v, err := b.ask(b.pod(0), "SET", "lonely", "v"); err == nil && !v.IsError() {
		t.Errorf("one of three acknowledges a write: %s", v)
	}
	if n := b.pod(0).restartCount(); n != 0 {
		t.Errorf("the pod that is left was restarted %d times", n)
	}
	b.create(2, 1)
	b.then("kubectl scale from 3 to 1 and back", 3, false, began)
	b.end()
}

// TestBackupsAreMadeAndDeleted: the CronJob's container writes into its volume, a folder for each
// run. It keeps as many as configured, and the backups are complete.
func TestBackupsAreMadeAndDeleted(t *testing.T) {
	long(t)
	b := begin(t, "backup")
	volume := b.root()
	for run := range 3 {
		c := &claim{b.set, fmt.Sprintf("%s-backup-%d", b.chart.name, run), volume}
		if out, err := b.runIn(c, &b.chart.backup); err != nil {
			t.Fatalf("run %d: %v\n%s", run, err, out)
		}
		b.load.Advance(writesUsual)
	}
	made, err := filepath.Glob(filepath.Join(volume, "backup", "*"))
	must(t, err)
	for i := range made {
		made[i] = filepath.Base(made[i])
	}
	if want := []string{b.chart.name + "-backup-1", b.chart.name + "-backup-2"}; !slices.Equal(made, want) {
		t.Fatalf("the volume has %q, want %q", made, want)
	}
	check := b.chart.backup
	check.Args = []string{"backup", "--verify", "/backup/$(POD_NAME)"}
	for _, name := range made {
		if out, err := b.runIn(&claim{b.set, name, volume}, &check); err != nil || !strings.Contains(out, "whole: ") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	b.end()
}

// TestAnUpgradeThatIsNotSafeChangesNothing: the Job fails while a pod that should stay does not
// answer.
func TestAnUpgradeThatIsNotSafeChangesNothing(t *testing.T) {
	long(t)
	b := begin(t, "default")
	b.crash(0)
	b.chart.resize(2)
	var out string
	var err error
	proc.Wait(t, patience, "the hook says which pod does not answer", func() bool {
		out, err = b.job()
		return strings.Contains(out, b.chart.name+"-0, to stay, does not answer")
	})
	if err == nil {
		t.Errorf("the hook succeeds: %s", out)
	}
	b.chart.resize(3)
	b.create(0)
	b.then("an upgrade to 2 was refused", 3, false, time.Now())
	b.end()
}

// TestPodsAreKilledAndDrained: a crash that keeps the volume, and a drain of the machine with the
// leader.
func TestPodsAreKilledAndDrained(t *testing.T) {
	long(t)
	b := begin(t, "default")
	for i := range 3 {
		began := time.Now()
		b.crash(i)
		b.create(i)
		b.then("kill -9, same name and volume", 3, false, began)
	}
	leader := b.leader()
	if leader < 0 {
		t.Fatal("nobody says who leads")
	}
	began := time.Now()
	took := b.remove(leader)
	b.load.Advance(writesUsual)
	b.Logf("the leader's pod ended after %v of %v; the others go on without it", took.Round(100*time.Millisecond), b.chart.grace)
	b.create(leader)
	b.then("drain of the leader's machine", 3, true, began)
	b.end()
}

// TestOneWayPartition: nothing that the leader sends reaches the others, while everything that they
// send still reaches the leader; clients reach all nodes. Then the other way round.
func TestOneWayPartition(t *testing.T) {
	long(t)
	b := begin(t, "default")
	for _, way := range []string{"the leader is not heard", "the leader hears nobody"} {
		leader := b.leader()
		if leader < 0 {
			t.Fatal("nobody says who leads")
		}
		cut := func(do func(from, to *lan.Leg)) {
			for i := range 3 {
				if from, to := b.pod(leader).leg, b.pod(i).leg; i != leader && way == "the leader is not heard" {
					do(from, to)
				} else if i != leader {
					do(to, from)
				}
			}
		}
		began := time.Now()
		cut((*lan.Leg).Deafen)
		proc.Wait(t, patience, way+": another pod leads", func() bool {
			for i := range 3 {
				if i == leader {
					continue
				}
				if c := b.status(b.pod(i)); c != nil && len(c.Layout) > 0 && c.Layout[0].Leader != "" && c.Layout[0].Leader != b.pod(leader).name {
					return true
				}
			}
			return false
		})
		b.Logf("%s: another leads after %v", way, time.Since(began).Round(100*time.Millisecond))
		proc.Wait(t, patience, way+": the pod that is cut off is not ready", func() bool { return !b.pod(leader).isReady() })
		b.load.Advance(writesUsual)
		cut((*lan.Leg).Heal)
		b.then(way, 3, false, began)
	}
	b.end()
}

// TestCertificatesAreRenewed: the Secret changes under the pods, which then show the new
// certificate to clients and to each other, without a restart. Later pods come and go with it.
func TestCertificatesAreRenewed(t *testing.T) {
	long(t)
	b := begin(t, "tls")
	began := time.Now()
	b.renew()
	for i := range 3 {
		proc.Wait(t, patience, b.pod(i).name+" shows the new certificate", func() bool {
			return b.shown(b.pod(i)) == b.tls.pair.Serial.String()
		})
	}
	for i := range 3 {
		if n := b.pod(i).restartCount(); n != 0 {
			t.Errorf("%s was restarted %d times", b.pod(i).name, n)
		}
	}
	b.then("certificates renewed", 3, true, began)

	began = time.Now()
	b.roll(3)
	b.then("rolling restart under TLS", 3, true, began)

	began = time.Now()
	b.upgrade(5)
	b.upgrade(3)
	b.then("helm upgrade to 5 and 3 under TLS", 3, true, began)
	b.end()
}
