package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep/tests/kit/image"
	"lockstep/tests/kube/kubelet/box"
)

// A container that ended by itself is started again after a pause: at once the first time, then
// after longer and longer times.
const (
	restartAfter = 10 * time.Second
	restartMost  = 5 * time.Minute
)

// container is a container of a pod. The fields below api are guarded by the pod's mu.
type container struct {
	p   *pod
	api *corev1.Container

	// cmd is the running process, or nil between two runs.
	cmd *exec.Cmd
	// started is true if the startup probe has succeeded or there is none. ready is the same for
	// the readiness probe.
	started, ready bool
	since          metav1.Time
	// last is how the previous run ended. over is true if there will be no further run.
	last     *corev1.ContainerStateTerminated
	over     bool
	restarts int32
	waits    *corev1.ContainerStateWaiting
}

// run starts the container, again and again if the pod's restart policy says so, until the pod
// ends.
func (c *container) run() {
	defer func() {
		c.p.mu.Lock()
		c.over = true
		c.p.mu.Unlock()
		c.p.change()
	}()
	pause := time.Duration(0)
	for {
		if closed(c.p.end) || closed(c.p.forced) {
			return
		}
		code := c.once()
		policy := c.p.api.Spec.RestartPolicy
		if policy == corev1.RestartPolicyNever || policy == corev1.RestartPolicyOnFailure && code == 0 {
			return
		}
		if closed(c.p.end) || closed(c.p.forced) {
			return
		}
		c.p.mu.Lock()
		c.waits = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: fmt.Sprintf("%v", pause)}
		c.p.mu.Unlock()
		c.p.change()
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-c.p.end:
		case <-c.p.forced:
		}
		again.Stop()
		pause = min(max(2*pause, restartAfter), restartMost)
		c.p.mu.Lock()
		c.restarts++
		c.p.mu.Unlock()
	}
}

// once runs the container to its end and returns its exit status.
func (c *container) once() int32 {
	cmd, err := c.start()
	if err != nil {
		c.p.k.Complain("%s/%s: %s: %v", c.p.namespace, c.p.name, c.api.Name, err)
		c.finish("StartError", 128)
		return 128
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	c.p.k.note(c.p, Started)
	c.p.change()
	ctx, cancel := context.WithCancel(c.p.k.ctx)
	sick := make(chan struct{}, 1)
	var probes sync.WaitGroup
	probes.Go(func() { c.examine(ctx, sick) })
	select {
	case <-exited:
	case <-c.p.forced:
		c.kill(cmd, exited, 0)
	case <-c.p.end:
		c.p.k.note(c.p, ToldEnd)
		c.p.mu.Lock()
		grace := c.p.grace
		c.p.mu.Unlock()
		c.kill(cmd, exited, grace)
	case <-sick:
		c.p.k.note(c.p, Sick)
		c.kill(cmd, exited, time.Duration(*c.p.api.Spec.TerminationGracePeriodSeconds)*time.Second)
	}
	cancel()
	probes.Wait()
	code := int32(cmd.ProcessState.ExitCode())
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int32(status.Signal())
	}
	reason, what := "Completed", Ended
	if code != 0 {
		reason, what = "Error", Failed
	}
	c.p.k.note(c.p, what)
	c.finish(reason, code)
	return code
}

// finish records how a container ended.
func (c *container) finish(reason string, code int32) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	id := ""
	if c.cmd != nil {
		id = c.id()
	}
	c.last = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, StartedAt: c.since, FinishedAt: metav1.Now(), ContainerID: id}
	c.cmd, c.started, c.ready = nil, false, false
}

// id returns the id of a running container.
func (c *container) id() string { return fmt.Sprintf("process://%d", c.cmd.Process.Pid) }

// kill ends a container by SIGTERM, and by SIGKILL after the grace period.
func (c *container) kill(cmd *exec.Cmd, exited <-chan struct{}, grace time.Duration) {
	if grace > 0 {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-exited:
			return
		case <-c.p.forced:
		case <-late.C:
			c.p.k.note(c.p, Killed)
		}
	}
	_ = cmd.Process.Kill()
	<-exited
}

// start makes a box and starts the container in it.
func (c *container) start() (*exec.Cmd, error) {
	b, err := c.box()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	path := c.p.k.logPath(c.p.namespace, c.p.name, c.api.Name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(c.p.k.Starter, string(text))
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Setpgid:    true, Pdeathsig: syscall.SIGKILL,
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if err := c.p.leg.Start(cmd); err != nil {
		return nil, err
	}
	c.cmd, c.since, c.waits = cmd, metav1.Now(), nil
	return cmd, nil
}

// box makes the box of the container anew for each run. Only files in volumes survive from one run
// to the next.
func (c *container) box() (*box.Box, error) {
	env, err := c.environment()
	if err != nil {
		return nil, err
	}
	pod, own := c.p.api.Spec.SecurityContext, c.api.SecurityContext
	b := &box.Box{
		Root: filepath.Join(c.p.dir, "root-"+c.api.Name), ReadOnlyRoot: *own.ReadOnlyRootFilesystem, Hostname: c.p.hostname(),
		User: int(*pod.RunAsUser), Group: int(*pod.RunAsGroup), NoNewPrivileges: !*own.AllowPrivilegeEscalation,
		Argv: expand(append(append([]string{}, c.api.Command...), c.api.Args...), env), Env: env,
	}
	if pod.FSGroup != nil {
		b.Groups = []int{int(*pod.FSGroup)}
	}
	if err := os.RemoveAll(b.Root); err != nil {
		return nil, err
	}
	for _, dir := range []string{"proc", "dev", "etc"} {
		if err := os.MkdirAll(filepath.Join(b.Root, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := image.CopyLinked(c.p.k.Images[c.api.Image], b.Root); err != nil {
		return nil, err
	}
	for _, name := range []string{"hosts", "resolv.conf"} {
		b.Mounts = append(b.Mounts, box.Mount{Source: filepath.Join(c.p.dir, name), Target: "/etc/" + name})
	}
	for _, m := range c.api.VolumeMounts {
		v := c.p.volumes[m.Name]
		if v == nil {
			return nil, fmt.Errorf("there is no volume %s", m.Name)
		}
		source, err := v.at(m.SubPath)
		if err != nil {
			return nil, err
		}
		b.Mounts = append(b.Mounts, box.Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly || v.show != nil})
	}
	return b, makeTargets(b)
}

// unknown returns an error if the pod needs something that this kubelet does not have.
func (p *pod) unknown() error {
	s := &p.api.Spec
	switch {
	case len(s.InitContainers) > 0 || len(s.EphemeralContainers) > 0:
		return errors.New("other containers than usual ones")
	case s.HostNetwork || s.HostPID || s.HostIPC || s.ShareProcessNamespace != nil:
		return errors.New("namespaces of the machine")
	case s.EnableServiceLinks == nil || *s.EnableServiceLinks:
		return errors.New("variables for all Services")
	case s.SecurityContext == nil || s.SecurityContext.RunAsUser == nil || s.SecurityContext.RunAsGroup == nil:
		return errors.New("a user that the image names")
	case s.DNSPolicy != corev1.DNSClusterFirst || s.DNSConfig != nil || len(s.HostAliases) > 0:
		return errors.New("names of its own")
	}
	for i := range s.Volumes {
		if what := strange(&s.Volumes[i]); what != "" {
			return fmt.Errorf("volume %s: %s", s.Volumes[i].Name, what)
		}
	}
	for _, c := range s.Containers {
		for _, m := range c.VolumeMounts {
			if m.SubPathExpr != "" || m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
				return fmt.Errorf("volume %s: a path with variables, or mounts that others see", m.Name)
			}
		}
		o := c.SecurityContext
		switch {
		case o == nil || o.RunAsUser != nil || o.RunAsGroup != nil || o.ReadOnlyRootFilesystem == nil || o.AllowPrivilegeEscalation == nil:
			return errors.New("a container with a user of its own, or rights that are not said")
		case len(c.Command) == 0:
			return errors.New("a command that the image names")
		case c.Lifecycle != nil:
			return errors.New("a hook of a container's life")
		case c.WorkingDir != "" || len(c.EnvFrom) > 0 || c.Stdin || len(c.VolumeDevices) > 0:
			return errors.New("a working folder, variables of a whole object, an input or a device")
		}
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if probe != nil && (probe.HTTPGet == nil || probe.HTTPGet.Host != "" || len(probe.HTTPGet.HTTPHeaders) > 0 || probe.TerminationGracePeriodSeconds != nil) {
				return errors.New("a probe that is not a usual HTTP request")
			}
		}
	}
	return nil
}
