package kubelet

import (
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Provisioner is the name by which a storage class asks this package for volumes.
const Provisioner = "lockstep.test/folder"

// provisionEvery is how often claims are checked.
const provisionEvery = 200 * time.Millisecond

// provision makes a volume for each claim that waits for one. It removes the volumes whose claim is
// gone, if their class says so.
func (k *Kubelet) provision() {
	claims, _ := k.factory.Core().V1().PersistentVolumeClaims().Lister().List(labels.Everything())
	for _, claim := range claims {
		if claim.Spec.VolumeName == "" && claim.Annotations["volume.kubernetes.io/storage-provisioner"] == Provisioner {
			if err := k.makeVolume(claim); err != nil && k.ctx.Err() == nil {
				k.Complain("volume for %s: %v", claim.Name, err)
			}
		}
	}
	volumes, _ := k.factory.Core().V1().PersistentVolumes().Lister().List(labels.Everything())
	for _, volume := range volumes {
		if volume.Status.Phase == corev1.VolumeReleased && volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
			_ = os.RemoveAll(volume.Spec.HostPath.Path)
			_ = k.Client.CoreV1().PersistentVolumes().Delete(k.ctx, volume.Name, metav1.DeleteOptions{})
		}
	}
}

// makeVolume makes a folder that looks like an empty ext4: it belongs to root, and has a folder
// lost+found.
func (k *Kubelet) makeVolume(claim *corev1.PersistentVolumeClaim) error {
	name := "pvc-" + string(claim.UID)
	dir := filepath.Join(k.Dir, "volumes", name)
	if err := os.MkdirAll(filepath.Join(dir, "lost+found"), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(dir, "lost+found"), 0o700); err != nil {
		return err
	}
	class, err := k.Client.StorageV1().StorageClasses().Get(k.ctx, *claim.Spec.StorageClassName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: claim.Spec.Resources.Requests, AccessModes: claim.Spec.AccessModes, StorageClassName: class.Name,
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy,
			ClaimRef:                      &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}},
		},
	}
	_, err = k.Client.CoreV1().PersistentVolumes().Create(k.ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // the volume exists, and the controller has not bound it yet
	}
	return err
}
