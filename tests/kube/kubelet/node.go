package kubelet

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// beatEvery is how often a node renews its lease.
const beatEvery = 10 * time.Second

// leases is the namespace of the nodes' leases.
const leases = "kube-node-lease"

// register makes a node, which is ready from the start. Each node is in a zone of its own.
func (k *Kubelet) register(name string) error {
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: "zone-" + name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: k.Lan.Gateway()}, {Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
		},
	}
	if _, err := k.Client.CoreV1().Nodes().Create(k.ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	return k.renew(name)
}

// renew renews a node's lease.
func (k *Kubelet) renew(name string) error {
	now, lasts := metav1.NowMicro(), int32(4*beatEvery/time.Second)
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: leases},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &lasts, RenewTime: &now},
	}
	of := k.Client.CoordinationV1().Leases(leases)
	old, err := of.Get(k.ctx, name, metav1.GetOptions{})
	if err != nil {
		_, err = of.Create(k.ctx, lease, metav1.CreateOptions{})
		return err
	}
	old.Spec = lease.Spec
	_, err = of.Update(k.ctx, old, metav1.UpdateOptions{})
	return err
}

// beat renews the leases of all nodes that are not lost.
func (k *Kubelet) beat() {
	for _, name := range k.Nodes {
		k.mu.Lock()
		dead := k.dead[name]
		k.mu.Unlock()
		if !dead {
			_ = k.renew(name) // if it fails, the next call comes soon enough
		}
	}
}
