package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep/tests/kit/lan"
)

// refreshEvery is how often volumes are updated from their objects. The real kubelet takes a
// minute.
const refreshEvery = time.Second

// pod is a pod that is bound to one of the nodes.
type pod struct {
	k                     *Kubelet
	uid                   types.UID
	namespace, name, node string
	// api is the object when the kubelet saw it first.
	api *corev1.Pod
	dir string
	// leg and volumes are made before the containers.
	leg     *lan.Leg
	volumes map[string]*volume

	// changed gets a value when the status has changed and the API server must be told.
	changed chan struct{}
	// end is closed when the pod is told to end. forced is closed when it must end at once.
	end, forced chan struct{}

	mu         sync.Mutex
	began      metav1.Time
	containers []*container
	// waits is the reason why the containers do not run yet, or nil.
	waits *corev1.ContainerStateWaiting
	grace time.Duration
	ended bool
}

func newPod(k *Kubelet, api *corev1.Pod) *pod {
	p := &pod{
		k: k, uid: api.UID, namespace: api.Namespace, name: api.Name, node: api.Spec.NodeName, api: api,
		dir: filepath.Join(k.Dir, "pods", string(api.UID)), volumes: map[string]*volume{}, began: metav1.Now(),
		changed: make(chan struct{}, 1), end: make(chan struct{}), forced: make(chan struct{}),
		waits: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"},
	}
	for i := range api.Spec.Containers {
		p.containers = append(p.containers, &container{p: p, api: &api.Spec.Containers[i]})
	}
	return p
}

// hear handles a new version of the object.
func (p *pod) hear(api *corev1.Pod) {
	if api.DeletionTimestamp == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	if s := api.DeletionGracePeriodSeconds; s != nil {
		p.grace = time.Duration(*s) * time.Second
	}
	close(p.end)
}

// force ends the pod at once.
func (p *pod) force() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !closed(p.forced) {
		close(p.forced)
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// change makes live report the status to the API server.
func (p *pod) change() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// run runs the pod from its start to its deletion.
func (p *pod) run() {
	defer p.k.forget(p)
	over := corev1.PodSucceeded == p.api.Status.Phase || corev1.PodFailed == p.api.Status.Phase
	if !over {
		p.live()
	}
	select {
	case <-p.forced:
		return
	case <-p.end:
	}
	p.k.note(p, Deleted)
	now := int64(0)
	err := p.k.Client.CoreV1().Pods(p.namespace).Delete(p.k.ctx, p.name, metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.uid}})
	if err != nil && !gone(err) && p.k.ctx.Err() == nil {
		p.k.Complain("%s/%s is not deleted: %v", p.namespace, p.name, err)
	}
}

// live runs the containers to their end, and reports their status to the API server.
func (p *pod) live() {
	p.report()
	defer p.clear()
	if !p.prepare() {
		return
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	for _, c := range p.containers {
		running.Go(c.run)
	}
	go func() { running.Wait(); close(done) }()
	refresh := time.NewTicker(refreshEvery)
	defer refresh.Stop()
	for {
		select {
		case <-done:
			p.report()
			return
		case <-p.changed:
			p.report()
		case <-refresh.C:
			for _, v := range p.volumes {
				if err := v.refresh(); err != nil {
					p.k.Complain("%s/%s: volume %s: %v", p.namespace, p.name, v.name, err)
				}
			}
		}
	}
}

// prepareEvery is how often prepare tries again.
const prepareEvery = 200 * time.Millisecond

// prepare makes everything that the containers need. It returns false if the pod must end before
// that.
func (p *pod) prepare() bool {
	if err := p.unknown(); err != nil {
		p.k.Complain("%s/%s wants what is not known here: %v", p.namespace, p.name, err)
		return p.wait("CreateContainerError", err)
	}
	tick := time.NewTicker(prepareEvery)
	defer tick.Stop()
	for {
		err := p.try()
		if err == nil {
			p.mu.Lock()
			p.waits = nil
			p.mu.Unlock()
			return true
		}
		p.mu.Lock()
		p.waits = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: err.Error()}
		p.mu.Unlock()
		p.report()
		select {
		case <-p.end:
			return false
		case <-p.forced:
			return false
		case <-tick.C:
		}
	}
}

// wait reports why a pod cannot run, and waits until the pod is told to end.
func (p *pod) wait(reason string, err error) bool {
	p.mu.Lock()
	p.waits = &corev1.ContainerStateWaiting{Reason: reason, Message: err.Error()}
	p.mu.Unlock()
	p.report()
	select {
	case <-p.end:
	case <-p.forced:
	}
	return false
}

// try makes what does not exist yet. It returns an error that names what is missing.
func (p *pod) try() error {
	for _, c := range p.containers {
		if p.k.Images[c.api.Image] == "" {
			return fmt.Errorf("ErrImagePull: there is no image %s", c.api.Image)
		}
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	if p.leg == nil {
		leg, err := p.k.Lan.TryJoin()
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.leg = leg
		p.mu.Unlock()
	}
	for i := range p.api.Spec.Volumes {
		if err := p.mount(&p.api.Spec.Volumes[i]); err != nil {
			return err
		}
	}
	for _, c := range p.containers {
		if _, err := c.environment(); err != nil {
			return err
		}
	}
	return p.writeNames()
}

// writeNames writes the files that the kubelet mounts in every container.
func (p *pod) writeNames() error {
	own := p.name
	if s := p.api.Spec.Subdomain; s != "" {
		own = fmt.Sprintf("%s.%s.%s.svc.%s\t%s", p.hostname(), s, p.namespace, Domain, p.hostname())
	}
	hosts := fmt.Sprintf("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n%s\t%s\n", p.leg.Addr, own)
	resolv := fmt.Sprintf("search %s.svc.%s svc.%s %s\nnameserver %s\noptions ndots:5\n", p.namespace, Domain, Domain, Domain, p.k.Lan.Gateway())
	for name, text := range map[string]string{"hosts": hosts, "resolv.conf": resolv} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hostname returns the pod's host name.
func (p *pod) hostname() string {
	if p.api.Spec.Hostname != "" {
		return p.api.Spec.Hostname
	}
	return p.name
}

// clear removes what was made for the pod. The folders of persistent volumes stay.
func (p *pod) clear() {
	if p.leg != nil {
		p.leg.Leave()
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.k.Complain("%s/%s leaves something behind: %v", p.namespace, p.name, err)
	}
}

// signal sends a signal to all running containers.
func (p *pod) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.containers {
		if c.cmd != nil {
			if err := c.cmd.Process.Signal(s); err != nil {
				return err
			}
		}
	}
	return nil
}
