package kube

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubectl/pkg/drain"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kube/kubelet"
)

// TestChart takes one release of the chart through its whole life.
func TestChart(t *testing.T) {
	c := newCluster(t)
	r := c.newRelease(t, "db")
	r.secret("people", map[string][]byte{"users.acl": []byte("user ann on >of-ann ~ann:* +@all\n")})
	r.install(3, "auth.usersSecret=people")
	r.begin()
	for _, step := range []struct {
		name string
		do   func(*release)
	}{
		{"installed", installed},
		{"the users of a Secret", peopled},
		{"tested", tested},
		{"a pod is deleted", deleted},
		{"an upgrade rolls the pods", rolled},
		{"scaled", scaled},
		{"evicted", evicted},
		{"two machines are drained at once", drained},
		{"a machine is lost", lost},
		{"uninstalled", uninstalled},
	} {
		began := time.Now()
		step.do(r)
		if t.Failed() {
			t.Fatalf("%s: this failed, and what comes after it is left out", step.name)
		}
		t.Logf("== %s: %v", step.name, time.Since(began).Round(time.Second))
	}
}

// installed checks that each pod is on a node of its own and has not been restarted.
func installed(r *release) {
	on := map[string]bool{}
	for name, pod := range r.nodes() {
		on[pod.Spec.NodeName] = true
		if n := pod.Status.ContainerStatuses[0].RestartCount; n != 0 {
			r.Errorf("%s was restarted %d times", name, n)
		}
	}
	if len(on) != 3 {
		r.Errorf("three pods are on %d nodes", len(on))
	}
	if want := []string{"data-db-lockstep-0", "data-db-lockstep-1", "data-db-lockstep-2"}; !slices.Equal(names(r.volumes()), want) {
		r.Errorf("the claims are %v", r.volumes())
	}
}

// peopled checks that the cluster has the users of the Secret, on every pod, with the rights that
// the Secret gives them.
func peopled(r *release) {
	for name, pod := range r.nodes() {
		conn, err := r.dial(pod.Status.PodIP)
		must(r.T, err)
		for _, step := range []struct{ want, command string }{{"+OK", "AUTH ann of-ann"}, {"+OK", "SET ann:a 1"}, {"-NOPERM ", "SET bob:a 1"}} {
			if v, err := conn.Do(strings.Fields(step.command)...); err != nil || !strings.HasPrefix(v.String(), step.want) {
				r.Errorf("%s: %s: %s %v", name, step.command, v, err)
			}
		}
		conn.Close()
	}
}

// tested checks that helm test succeeds.
func tested(r *release) {
	if out := r.helm("test", r.name); !strings.Contains(out, "Succeeded") {
		r.Errorf("helm test: %s", out)
	}
}

// deleted deletes a pod. The pod comes back with the same name and volume and another address, and
// no client gets an error.
func deleted(r *release) {
	before, volumes, began := r.get(1), r.volumes(), time.Now()
	must(r.T, r.c.client.CoreV1().Pods(r.namespace).Delete(r.Context(), before.Name, metav1.DeleteOptions{}))
	proc.Wait(r.T, patience, "another pod of the name is ready", func() bool {
		now := r.nodes()[before.Name]
		return now != nil && now.UID != before.UID && ready(now)
	})
	r.then("pod deleted", 3, true, began)
	after := r.get(1)
	if after.Status.PodIP == before.Status.PodIP {
		r.Errorf("it has the same address")
	}
	if now := r.volumes(); now["data-"+after.Name] != volumes["data-"+after.Name] {
		r.Errorf("it has another volume: %v, was %v", now, volumes)
	}
}

// rolled changes a value. The pods restart one after the other, the highest first, and no client
// gets an error.
func rolled(r *release) {
	// The controller would restart a pod first that is not available yet.
	proc.Wait(r.T, patience, "all pods are available", func() bool {
		set, err := r.c.client.AppsV1().StatefulSets(r.namespace).Get(r.Context(), r.full, metav1.GetOptions{})
		must(r.T, err)
		return set.Status.AvailableReplicas == 3
	})
	before, began := r.uids(), time.Now()
	r.upgrade("config.maxmemory=600mb")
	r.then("helm upgrade with another value", 3, true, began)
	if order := r.order(kubelet.ToldEnd, began); !slices.Equal(order, []string{r.pod(2), r.pod(1), r.pod(0)}) {
		r.Errorf("told to end: %v", order)
	}
	for name, pod := range r.nodes() {
		if pod.UID == before[name] {
			r.Errorf("%s is the old pod", name)
		}
		if v, err := r.ask(pod, "CONFIG", "GET", "maxmemory"); err != nil || len(v.Elems) != 2 || string(v.Elems[1].Bytes) != "629145600" {
			r.Errorf("%s has not the new value: %v %v", name, v, err)
		}
	}
	r.oneByOne(began)
}

// oneByOne checks that since a time no pod was told to end before the previous one was ready again.
func (r *release) oneByOne(since time.Time) {
	r.Helper()
	away := ""
	for _, e := range r.c.kubelet.Events(r.namespace, since) {
		switch {
		case strings.Contains(e.Pod, "scale-down"):
		case e.What == kubelet.ToldEnd && away != "":
			r.Errorf("%s was told to end while %s was away", e.Pod, away)
		case e.What == kubelet.ToldEnd:
			away = e.Pod
		case e.What == kubelet.Ready && e.Pod == away:
			away = ""
		}
	}
}

// scaled goes from 3 pods to 5 and back, by upgrade and by rollback.
func scaled(r *release) {
	before, began := r.uids(), time.Now()
	r.upgrade("replicaCount=5")
	r.then("helm upgrade to 5", 5, true, began)
	after := r.uids()
	for name, uid := range before {
		if after[name] != uid {
			r.Errorf("%s was made anew by a scale-up", name)
		}
	}
	r.shrink("helm upgrade to 3", func() { r.upgrade("replicaCount=3") })

	began = time.Now()
	r.helm("rollback", r.name, "3", "--wait")
	r.then("helm rollback to 5, with volumes of members that have left", 5, true, began)
	for _, i := range []int{3, 4} {
		if text := r.c.kubelet.Logs(r.namespace, r.pod(i)); !strings.Contains(text, "its data is set aside, and a new node begins here") {
			r.Errorf("%s does not say what became of its old data", r.pod(i))
		}
	}
	r.shrink("helm rollback to 3", func() { r.helm("rollback", r.name, "4", "--wait") })
	if n := len(r.volumes()); n != 5 {
		r.Errorf("%d volumes are kept, not 5", n)
	}
}

// shrink goes from 5 pods to 3. The Job must end before any pod is told to end.
func (r *release) shrink(what string, do func()) {
	r.Helper()
	before, began := r.uids(), time.Now()
	do()
	r.then(what, 3, true, began)
	job, told := "", []string{}
	for _, e := range r.c.kubelet.Events(r.namespace, began) {
		switch {
		case strings.Contains(e.Pod, "scale-down") && e.What == kubelet.Ended:
			job = e.Pod
		case e.What == kubelet.ToldEnd && job == "":
			r.Errorf("%s: %s was told to end before the Job had ended", what, e.Pod)
		case e.What == kubelet.ToldEnd:
			told = append(told, e.Pod)
		}
	}
	slices.Sort(told)
	if !slices.Equal(told, []string{r.pod(3), r.pod(4)}) {
		r.Errorf("%s: told to end: %v", what, told)
	}
	for name, uid := range r.uids() {
		if before[name] != uid {
			r.Errorf("%s: %s was made anew", what, name)
		}
	}
}

// evicted checks that a pod that is not ready can be evicted, and no other pod can be evicted
// meanwhile.
func evicted(r *release) {
	began, sick := time.Now(), r.get(2)
	must(r.T, r.c.kubelet.Signal(r.namespace, sick.Name, syscall.SIGSTOP))
	proc.Wait(r.T, patience, "the budget has no pod to spare", func() bool { return r.disruptionsAllowed() == 0 })
	if err := r.evict(r.pod(0)); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "violate") {
		r.Errorf("while %s is not ready, the eviction of %s is answered: %v", sick.Name, r.pod(0), err)
	}
	if err := r.evict(sick.Name); err != nil {
		r.Errorf("the pod that is not ready may not be evicted: %v", err)
	}
	must(r.T, r.c.kubelet.Signal(r.namespace, sick.Name, syscall.SIGCONT))
	proc.Wait(r.T, patience, "another pod of the name is ready", func() bool {
		now := r.nodes()[sick.Name]
		return now != nil && now.UID != sick.UID && ready(now)
	})
	r.then("evicted", 3, false, began)
}

// disruptionsAllowed returns how many pods the release's budget allows to evict, or -1 if it does
// not know yet.
func (r *release) disruptionsAllowed() int {
	r.Helper()
	budget, err := r.c.client.PolicyV1().PodDisruptionBudgets(r.namespace).Get(r.Context(), r.full, metav1.GetOptions{})
	must(r.T, err)
	if budget.Status.ObservedGeneration < budget.Generation || budget.Status.ExpectedPods == 0 {
		return -1
	}
	return int(budget.Status.DisruptionsAllowed)
}

// evict requests the eviction of a pod.
func (r *release) evict(pod string) error {
	return r.c.client.CoreV1().Pods(r.namespace).EvictV1(r.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: r.namespace}})
}

// drained runs kubectl drain for the nodes of two pods at the same time. One pod goes after the
// other, and no client gets an error.
func drained(r *release) {
	proc.Wait(r.T, patience, "the budget has a pod to spare", func() bool { return r.disruptionsAllowed() == 1 })
	began := time.Now()
	var both sync.WaitGroup
	for _, i := range []int{0, 1} {
		node, err := r.c.client.CoreV1().Nodes().Get(r.Context(), r.get(i).Spec.NodeName, metav1.GetOptions{})
		must(r.T, err)
		d := &drain.Helper{
			Ctx: r.Context(), Client: r.c.client, GracePeriodSeconds: -1, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true, Timeout: patience,
			Out: io.Discard, ErrOut: io.Discard,
		}
		both.Go(func() {
			if err := errors.Join(drain.RunCordonOrUncordon(d, node, true), drain.RunNodeDrain(d, node.Name)); err != nil {
				r.Errorf("drain of %s: %v", node.Name, err)
			}
			if err := drain.RunCordonOrUncordon(d, node, false); err != nil {
				r.Errorf("the end of the drain of %s: %v", node.Name, err)
			}
		})
	}
	both.Wait()
	r.then("two machines drained at once", 3, true, began)
	if told := r.order(kubelet.ToldEnd, began); len(told) != 2 {
		r.Errorf("told to end: %v", told)
	}
	r.oneByOne(began)
}

// lost removes a node's machine. The other pods continue. When the Node object is deleted, the pod
// comes back on another node, with its volume.
func lost(r *release) {
	began, before := time.Now(), r.get(0)
	r.c.kubelet.Break(before.Spec.NodeName)
	r.load.Advance(writesUsual)
	must(r.T, r.c.client.CoreV1().Nodes().Delete(r.Context(), before.Spec.NodeName, metav1.DeleteOptions{}))
	proc.Wait(r.T, patience, "another pod of the name is ready", func() bool {
		now := r.nodes()[before.Name]
		return now != nil && now.UID != before.UID && ready(now)
	})
	r.then("a machine is lost, and its Node deleted", 3, false, began)
	if after := r.get(0); after.Spec.NodeName == before.Spec.NodeName {
		r.Errorf("%s is on the lost machine", after.Name)
	}
}

// uninstalled reads everything back, uninstalls the release, and checks that only the volumes stay.
func uninstalled(r *release) {
	r.verify()
	began := time.Now()
	r.helm("uninstall", r.name, "--wait")
	proc.Wait(r.T, patience, "no pod is left", func() bool { return len(r.nodes()) == 0 })
	for _, pod := range r.order(kubelet.Killed, began) {
		r.Errorf("%s did not end in its time", pod)
	}
	if n := len(r.volumes()); n != 5 {
		r.Errorf("%d volumes are kept, not 5", n)
	}
}
