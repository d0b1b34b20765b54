package kube

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
	"lockstep/tests/kit/writers"
	"lockstep/tests/kube/kubelet"
)

const (
	// chartDir is the folder of the chart.
	chartDir = "../../deploy/k8s/lockstep"
	// clientPort is the port of the Service and of the pods.
	clientPort = 6379
	// writersUsual is the number of clients that write. writesUsual is how many writes of each must
	// be acknowledged after a change.
	writersUsual = 4
	writesUsual  = 50
	// dialPatience and askPatience bound how long a pod may take to answer.
	dialPatience = 2 * time.Second
	askPatience  = 20 * time.Second
)

// release is an installed release of the chart.
type release struct {
	*testing.T
	c *cluster
	// name is the name of the release. full is the start of the names of its objects.
	name, namespace, full, password string
	// tls is the TLS configuration of clients. It is nil if they use plain connections.
	tls  *tls.Config
	load *writers.Writers
}

// newRelease makes a namespace, and in it the Secret with the password.
func (c *cluster) newRelease(t *testing.T, namespace string) *release {
	t.Helper()
	c.namespace(t, namespace)
	r := &release{T: t, c: c, name: "db", namespace: namespace, full: "db-lockstep", password: "correct horse"}
	t.Cleanup(func() {
		if t.Failed() {
			r.show()
		}
	})
	r.secret("lockstep-auth", map[string][]byte{"password": []byte(r.password)})
	return r
}

// secret makes a Secret.
func (r *release) secret(name string, data map[string][]byte) {
	r.Helper()
	_, err := r.c.client.CoreV1().Secrets(r.namespace).Create(r.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	must(r.T, err)
}

// install installs the chart as docs/kubernetes.md says, and waits until helm reports that
// everything is ready.
func (r *release) install(replicas int, values ...string) {
	r.Helper()
	args := []string{r.name, chartDir, "--wait", "--set", "image.registry=registry.example", "--set", "auth.existingSecret=lockstep-auth"}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	r.helm("install", args...)
	r.whole(replicas)
}

// begin starts the clients that write.
func (r *release) begin() {
	r.Helper()
	r.load = writers.Begin(r.T, writersUsual, r.connect)
	r.load.Advance(writesUsual)
	r.load.Tell()
}

// helm runs helm, and fails the test if helm fails.
func (r *release) helm(verb string, args ...string) string {
	r.Helper()
	began := time.Now()
	out, err := r.c.runHelm(r.Context(), r.c.helm, append([]string{verb, "--namespace", r.namespace, "--timeout", patience.String()}, args...)...)
	if err != nil {
		r.Fatalf("helm %s %q: %v\n%s", verb, args, err, out)
	}
	r.Logf("helm %s %s: %v", verb, strings.Join(args, " "), time.Since(began).Round(100*time.Millisecond))
	return out
}

// upgrade runs helm upgrade with changed values.
func (r *release) upgrade(values ...string) {
	r.Helper()
	args := []string{r.name, chartDir, "--reset-then-reuse-values", "--wait"}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	r.helm("upgrade", args...)
}

// show logs the events of the pods and the ends of their logs.
func (r *release) show() {
	for _, e := range r.c.kubelet.Events(r.namespace, time.Time{}) {
		r.Logf("%s %s %s", e.Time.Format(time.StampMilli), e.Pod, e.What)
	}
	for i := range 5 {
		text := r.c.kubelet.Logs(r.namespace, r.pod(i))
		r.Logf("the log of %s ends:\n%s", r.pod(i), text[max(0, len(text)-2000):])
	}
}

// pod returns the name of the pod with an ordinal.
func (r *release) pod(i int) string { return fmt.Sprintf("%s-%d", r.full, i) }

// get returns a pod from the API server.
func (r *release) get(i int) *corev1.Pod {
	r.Helper()
	pod, err := r.c.client.CoreV1().Pods(r.namespace).Get(r.Context(), r.pod(i), metav1.GetOptions{})
	must(r.T, err)
	return pod
}

// nodes returns the release's pods by name, without those of Jobs.
func (r *release) nodes() map[string]*corev1.Pod {
	r.Helper()
	list, err := r.c.client.CoreV1().Pods(r.namespace).List(r.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=node"})
	must(r.T, err)
	all := map[string]*corev1.Pod{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all
}

// uids returns the UIDs of the pods by name. They tell a pod from a later one with the same name.
func (r *release) uids() map[string]types.UID {
	r.Helper()
	all := map[string]types.UID{}
	for name, pod := range r.nodes() {
		all[name] = pod.UID
	}
	return all
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// dial connects to an address as a client does, and sends the password.
func (r *release) dial(addr string) (*respconn.Conn, error) {
	plain, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", addr, clientPort), dialPatience)
	if err != nil {
		return nil, err
	}
	conn := respconn.New(plain)
	if r.tls != nil {
		conn = respconn.New(tls.Client(plain, r.tls))
	}
	conn.Patience = askPatience
	if v, err := conn.Do("AUTH", r.password); err != nil || v.String() != "+OK" {
		conn.Close()
		return nil, fmt.Errorf("AUTH: %s %w", v, err)
	}
	return conn, nil
}

// connect connects to one of the pods behind the Service for clients.
func (r *release) connect() (*respconn.Conn, error) {
	all := r.c.kubelet.Endpoints(r.namespace, r.full, "")
	if len(all) == 0 {
		return nil, errors.New("no pod is ready")
	}
	return r.dial(all[rand.IntN(len(all))])
}

// ask sends one command to a pod.
func (r *release) ask(pod *corev1.Pod, args ...string) (respconn.Value, error) {
	conn, err := r.dial(pod.Status.PodIP)
	if err != nil {
		return respconn.Value{}, err
	}
	defer conn.Close()
	return conn.Do(args...)
}

// status returns Lockstep's cluster as a pod sees it, or nil if the pod does not answer.
func (r *release) status(pod *corev1.Pod) *status.Cluster {
	v, err := r.ask(pod, "LOCKSTEP", "STATUS")
	var c status.Cluster
	if err != nil || json.Unmarshal(v.Bytes, &c) != nil {
		return nil
	}
	return &c
}

// whole waits until the release has this number of pods, all ready, and each of them reports a
// healthy cluster with this number of members.
func (r *release) whole(replicas int) {
	r.Helper()
	proc.Wait(r.T, patience, fmt.Sprintf("%d pods are ready and see %d members, all well", replicas, replicas), func() bool {
		pods := r.nodes()
		if len(pods) != replicas {
			return false
		}
		for _, pod := range pods {
			if !ready(pod) {
				return false
			}
			if c := r.status(pod); c == nil || len(c.Nodes) != replicas || c.Health != status.Healthy {
				return false
			}
		}
		return true
	})
}

// then waits until the cluster is healthy again and the clients continue, and logs their pauses and
// errors. If strict is true, an error fails the test.
func (r *release) then(what string, replicas int, strict bool, began time.Time) {
	r.Helper()
	r.whole(replicas)
	r.load.GoOn(what, time.Since(began), writesUsual, strict)
	for _, e := range r.c.kubelet.Events(r.namespace, began) {
		if e.What == kubelet.Killed || e.What == kubelet.Sick {
			r.Errorf("%s: %s was %s", what, e.Pod, e.What)
		}
	}
}

// verify reads everything back through every pod.
func (r *release) verify() {
	r.Helper()
	servers := map[string]func(...string) (respconn.Value, error){}
	for name, pod := range r.nodes() {
		servers[name] = func(args ...string) (respconn.Value, error) { return r.ask(pod, args...) }
	}
	r.load.Verify(servers)
}

// order returns the pods that had an event since a time, in the order of the events.
func (r *release) order(what string, since time.Time) (pods []string) {
	for _, e := range r.c.kubelet.Events(r.namespace, since) {
		if e.What == what {
			pods = append(pods, e.Pod)
		}
	}
	return pods
}

// volumes returns the names of the bound volumes by claim.
func (r *release) volumes() map[string]string {
	r.Helper()
	list, err := r.c.client.CoreV1().PersistentVolumeClaims(r.namespace).List(r.Context(), metav1.ListOptions{})
	must(r.T, err)
	all := map[string]string{}
	for _, claim := range list.Items {
		all[claim.Name] = claim.Spec.VolumeName
	}
	return all
}

func names[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
