package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"lockstep/tests/kit/lan"
)

// Config is the configuration of a kubelet.
type Config struct {
	Client kubernetes.Interface
	Lan    *lan.Lan
	// Images maps the image names in pods to folders.
	Images map[string]string
	// Starter is the path of the program that starts a container.
	Starter string
	// Dir is a folder for volumes, roots and logs.
	Dir string
	// Nodes are the names of the nodes that the kubelet plays.
	Nodes []string
	// Complain is called for faults, such as a pod that needs something that this kubelet does not
	// have.
	Complain func(format string, args ...any)
}

// Kubelet plays the nodes of a cluster.
type Kubelet struct {
	Config
	factory informers.SharedInformerFactory
	ctx     context.Context
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu   sync.Mutex
	pods map[types.UID]*pod
	dead map[string]bool
	past []Event
}

// Event is a change of a pod.
type Event struct {
	Time      time.Time
	Pod, What string
}

// These are the values of Event.What.
const (
	Started = "started"
	Ready   = "ready"
	Unready = "not ready any more"
	ToldEnd = "told to end"
	Ended   = "ended well"
	Failed  = "failed"
	Killed  = "killed after its grace period"
	Sick    = "ended for a probe that failed"
	Deleted = "deleted"
)

// Start registers the nodes and runs the pods that are bound to them, until Stop is called.
func Start(c Config) (*Kubelet, error) {
	k := &Kubelet{Config: c, pods: map[types.UID]*pod{}, dead: map[string]bool{}}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.factory = informers.NewSharedInformerFactory(c.Client, 0)
	core := k.factory.Core().V1()
	// Each call starts an informer, which is then kept up to date.
	core.ConfigMaps().Informer()
	core.Secrets().Informer()
	core.Services().Informer()
	core.PersistentVolumeClaims().Informer()
	core.PersistentVolumes().Informer()
	k.factory.Discovery().V1().EndpointSlices().Informer()
	_, err := core.Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.see(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { k.see(o.(*corev1.Pod)) },
		DeleteFunc: k.lose,
	})
	if err != nil {
		return nil, err
	}
	for _, name := range c.Nodes {
		if err := k.register(name); err != nil {
			return nil, err
		}
	}
	k.factory.Start(k.ctx.Done())
	k.factory.WaitForCacheSync(k.ctx.Done())
	k.done.Go(func() { k.repeat(beatEvery, k.beat) })
	k.done.Go(func() { k.repeat(provisionEvery, k.provision) })
	return k, nil
}

// repeat calls do again and again until Stop.
func (k *Kubelet) repeat(every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// Stop kills all pods, and waits until they are gone.
func (k *Kubelet) Stop() {
	k.cancel()
	k.mu.Lock()
	for _, p := range k.pods {
		p.force()
	}
	k.mu.Unlock()
	k.done.Wait()
	k.factory.Shutdown()
}

// see handles a new or changed pod object.
func (k *Kubelet) see(api *corev1.Pod) {
	if !slices.Contains(k.Nodes, api.Spec.NodeName) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead[api.Spec.NodeName] || k.ctx.Err() != nil {
		return
	}
	p := k.pods[api.UID]
	if p == nil {
		p = newPod(k, api)
		k.pods[api.UID] = p
		k.done.Go(p.run)
	}
	p.hear(api)
}

// lose handles the deletion of a pod object.
func (k *Kubelet) lose(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	api, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[api.UID]; p != nil {
		p.force()
	}
}

// forget removes a pod of which nothing runs any more.
func (k *Kubelet) forget(p *pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, p.uid)
}

// Break simulates the loss of a node's machine. All pods of the node are gone, and the API server
// is not told.
func (k *Kubelet) Break(node string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead[node] = true
	for _, p := range k.pods {
		if p.node == node {
			p.force()
		}
	}
}

// note records an event.
func (k *Kubelet) note(p *pod, what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.past = append(k.past, Event{time.Now(), p.namespace + "/" + p.name, what})
}

// Events returns the events of the pods of a namespace since a time.
func (k *Kubelet) Events(namespace string, since time.Time) []Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Event
	for _, e := range k.past {
		if of, name := filepath.Split(e.Pod); of == namespace+"/" && !e.Time.Before(since) {
			all = append(all, Event{e.Time, name, e.What})
		}
	}
	return all
}

// Signal sends a signal to the containers of a pod.
func (k *Kubelet) Signal(namespace, name string, signal syscall.Signal) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.namespace == namespace && p.name == name {
			return p.signal(signal)
		}
	}
	return fmt.Errorf("no pod %s/%s runs", namespace, name)
}

// logPath returns the path of a container's output. Containers with the same name share it.
func (k *Kubelet) logPath(namespace, pod, container string) string {
	return filepath.Join(k.Dir, "logs", namespace, pod+"_"+container+".log")
}

// Logs returns the output of the containers of a pod, and of earlier pods with the same name.
func (k *Kubelet) Logs(namespace, pod string) string {
	files, _ := filepath.Glob(k.logPath(namespace, pod, "*"))
	var all []byte
	for _, file := range files {
		text, _ := os.ReadFile(file)
		all = append(all, text...)
	}
	return string(all)
}
