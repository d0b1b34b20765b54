package kube

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep/tests/kit/certs"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kube/kubelet"
)

// TestTLS takes a release with TLS and backups through its life.
func TestTLS(t *testing.T) {
	c := newCluster(t)
	r := c.newRelease(t, "tls")
	authority := certs.NewAuthority(t, "issuer")
	domain := r.namespace + ".svc." + kubelet.Domain
	headless := r.full + "-nodes." + domain
	wish := certs.Wish{Names: []string{"*." + headless, headless, r.full + "." + domain}}
	data := func(p certs.Pair) map[string][]byte {
		return map[string][]byte{"tls.crt": p.Cert, "tls.key": p.Key, "ca.crt": authority.PEM}
	}
	r.secret("lockstep-tls", data(authority.Issue(wish)))
	r.tls = certs.ClientTLS(t, nil, authority)
	r.tls.ServerName = r.full + "." + domain
	r.install(3, "tls.enabled=true", "tls.existingSecret=lockstep-tls")
	r.begin()
	tested(r)

	began := time.Now()
	renewed := authority.Issue(wish)
	secret, err := c.client.CoreV1().Secrets(r.namespace).Get(t.Context(), "lockstep-tls", metav1.GetOptions{})
	must(t, err)
	secret.Data = data(renewed)
	_, err = c.client.CoreV1().Secrets(r.namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	must(t, err)
	for name, pod := range r.nodes() {
		proc.Wait(t, patience, name+" shows the new certificate", func() bool { return r.shown(pod) == renewed.Serial.String() })
	}
	r.then("certificates renewed", 3, true, began)
	if told := r.order(kubelet.Started, began); len(told) > 0 {
		t.Errorf("started anew for a certificate: %v", told)
	}
	backedUp(r)

	began = time.Now()
	r.upgrade("replicaCount=5")
	r.then("helm upgrade to 5 under TLS", 5, true, began)
	r.shrink("helm upgrade to 3 under TLS", func() { r.upgrade("replicaCount=3") })
	r.verify()
}

// shown returns the serial number of the certificate that a pod shows a new client.
func (r *release) shown(pod *corev1.Pod) string {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: dialPatience}, "tcp", fmt.Sprintf("%s:%d", pod.Status.PodIP, clientPort), r.tls)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// backedUp checks that the Job of the CronJob writes a backup into a volume, and that the backup of
// a second Job replaces the first.
func backedUp(r *release) {
	r.Helper()
	_, err := r.c.client.CoreV1().PersistentVolumeClaims(r.namespace).Create(r.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "backups"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	must(r.T, err)
	before := r.uids()
	r.upgrade("backup.enabled=true", "backup.existingClaim=backups", "backup.keep=1")
	if after := r.uids(); !maps.Equal(before, after) {
		r.Errorf("pods were made anew for the sake of backups: %v, were %v", after, before)
	}
	var last []string
	for run := range 2 {
		r.runCron(fmt.Sprintf("backup-%d", run))
		backups := r.backups("backups")
		if len(backups) != 1 || slices.Equal(backups, last) {
			r.Errorf("after Job %d the volume has the backups %v, and had %v before", run, backups, last)
		}
		last = backups
	}
}

// runCron runs a Job of the backup's CronJob to its end, like kubectl create job --from.
func (r *release) runCron(name string) {
	r.Helper()
	cron, err := r.c.client.BatchV1().CronJobs(r.namespace).Get(r.Context(), r.full+"-backup", metav1.GetOptions{})
	must(r.T, err)
	jobs := r.c.client.BatchV1().Jobs(r.namespace)
	_, err = jobs.Create(r.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: cron.Spec.JobTemplate.Spec}, metav1.CreateOptions{})
	must(r.T, err)
	proc.Wait(r.T, patience, name+" has ended well", func() bool {
		now, err := jobs.Get(r.Context(), name, metav1.GetOptions{})
		must(r.T, err)
		return now.Status.Succeeded == 1
	})
}

// backups returns the folders with backups in a claim's volume.
func (r *release) backups(claim string) (all []string) {
	r.Helper()
	volume, err := r.c.client.CoreV1().PersistentVolumes().Get(r.Context(), r.volumes()[claim], metav1.GetOptions{})
	must(r.T, err)
	found, err := filepath.Glob(filepath.Join(volume.Spec.HostPath.Path, "*", "manifest.json"))
	must(r.T, err)
	for _, path := range found {
		all = append(all, filepath.Base(filepath.Dir(path)))
	}
	return all
}
