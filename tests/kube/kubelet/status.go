package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// gone reports whether an error says that the pod no longer exists, or that another pod now has its
// name.
func gone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// report writes the status of the pod to the API server. A lost node reports nothing.
func (p *pod) report() {
	if closed(p.forced) {
		return
	}
	of := p.k.Client.CoreV1().Pods(p.namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := of.Get(p.k.ctx, p.name, metav1.GetOptions{})
		if err != nil || now.UID != p.uid {
			return err
		}
		next := now.DeepCopy()
		p.mu.Lock()
		p.describe(&next.Status)
		p.mu.Unlock()
		if equality.Semantic.DeepEqual(now.Status, next.Status) {
			return nil
		}
		_, err = of.UpdateStatus(p.k.ctx, next, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) && p.k.ctx.Err() == nil {
		p.k.Complain("the status of %s/%s: %v", p.namespace, p.name, err)
	}
}

// describe fills in a status. The caller holds mu.
func (p *pod) describe(s *corev1.PodStatus) {
	s.StartTime = &p.began
	s.HostIP, s.HostIPs = p.k.Lan.Gateway(), []corev1.HostIP{{IP: p.k.Lan.Gateway()}}
	if p.leg != nil {
		s.PodIP, s.PodIPs = p.leg.Addr, []corev1.PodIP{{IP: p.leg.Addr}}
	}
	s.ContainerStatuses = nil
	ready, begun, over, well := true, true, true, true
	for _, c := range p.containers {
		status := c.describe(p.waits)
		s.ContainerStatuses = append(s.ContainerStatuses, status)
		ready = ready && status.Ready
		begun = begun && (c.cmd != nil || c.last != nil)
		over = over && c.over && c.last != nil
		well = well && (c.last == nil || c.last.ExitCode == 0)
	}
	switch {
	case over && well:
		s.Phase = corev1.PodSucceeded
	case over:
		s.Phase = corev1.PodFailed
	case begun:
		s.Phase = corev1.PodRunning
	default:
		s.Phase = corev1.PodPending
	}
	reason := ""
	if over {
		reason = "PodCompleted"
	} else if !ready {
		reason = "ContainersNotReady"
	}
	condition(s, corev1.PodReadyToStartContainers, p.leg != nil && !over, "")
	condition(s, corev1.PodInitialized, true, "")
	condition(s, corev1.ContainersReady, ready, reason)
	condition(s, corev1.PodReady, ready, reason)
}

// describe returns the status of one container.
func (c *container) describe(waits *corev1.ContainerStateWaiting) corev1.ContainerStatus {
	started := c.started
	s := corev1.ContainerStatus{
		Name: c.api.Name, Image: c.api.Image, ImageID: "folder://" + c.p.k.Images[c.api.Image],
		Ready: c.ready, Started: &started, RestartCount: c.restarts,
	}
	if c.waits != nil {
		waits = c.waits
	}
	switch {
	case c.cmd != nil:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: c.since}
		s.ContainerID = c.id()
	case c.over && c.last != nil:
		s.State.Terminated = c.last
		s.ContainerID = c.last.ContainerID
		return s
	default:
		if waits == nil {
			waits = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		}
		s.State.Waiting = waits
	}
	if c.last != nil {
		s.LastTerminationState.Terminated = c.last
	}
	return s
}

// condition sets a condition of a pod, and the time of the change.
func condition(s *corev1.PodStatus, kind corev1.PodConditionType, is bool, reason string) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if c.Type == kind {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, metav1.Now()
			}
			c.Reason = reason
			return
		}
	}
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.Now()})
}
