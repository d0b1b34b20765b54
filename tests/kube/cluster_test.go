package kube

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"lockstep/tests/kit/certs"
	"lockstep/tests/kit/image"
	"lockstep/tests/kit/lan"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kube/kubelet"
)

func TestMain(m *testing.M) { proc.Main(m) }

// version is the version of Kubernetes in go.mod. Clients refuse a server that reports no version.
const version = "1.37.2"

// patience bounds how long a change may take on the slowest machine.
const patience = 5 * time.Minute

// imageName is the image that the chart names if only the registry is set.
const imageName = "registry.example/lockstep:0.1.0"

// nodes are the names of the nodes that the kubelet plays.
var nodes = []string{"node-a", "node-b", "node-c", "node-d"}

// cluster is a Kubernetes cluster.
type cluster struct {
	*testing.T
	dir     string
	config  *rest.Config
	client  *kubernetes.Clientset
	kubelet *kubelet.Kubelet
	// helm is the path of helm. kubeconfig is the file by which it finds the API server.
	helm, kubeconfig string
}

// newCluster starts a cluster for the duration of the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	lan := lan.New(t)
	plane := built(t, "lockstep/tests/kube/plane", "-ldflags", fmt.Sprintf(
		"-s -w -X k8s.io/component-base/version.gitVersion=v%s -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=%s",
		version, strings.Split(version, ".")[1]))
	c := &cluster{T: t, dir: t.TempDir(), helm: built(t, "helm.sh/helm/v3/cmd/helm", "-ldflags", "-s -w")}
	c.startPlane(plane)
	c.makeClass()
	k, err := kubelet.Start(kubelet.Config{
		Client: c.client, Lan: lan, Dir: filepath.Join(c.dir, "kubelet"), Nodes: nodes, Complain: t.Errorf,
		Images: map[string]string{imageName: image.New(t)}, Starter: built(t, "lockstep/tests/kube/container"),
	})
	must(t, err)
	t.Cleanup(k.Stop)
	c.kubelet = k
	lan.ServeNames(k.Lookup)
	return c
}

// built builds a program of this module into the folder bin beside this file, so that the linker
// runs only after a change.
func built(t *testing.T, path string, flags ...string) string {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("bin", filepath.Base(path)))
	must(t, err)
	began := time.Now()
	cmd := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), path)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", path, err, out)
	}
	t.Logf("%s built in %v", path, time.Since(began).Round(time.Second))
	return program
}

// start starts a part of the control plane. It ends with the test.
func (c *cluster) start(program, part string, flags ...string) {
	c.Helper()
	path := filepath.Join(c.dir, part+".log")
	out, err := os.Create(path)
	must(c.T, err)
	defer out.Close()
	cmd := exec.Command(program, append([]string{part}, flags...)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, c.dir
	must(c.T, proc.StartMortal(cmd))
	c.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if c.Failed() {
			text, _ := os.ReadFile(path)
			c.Logf("the log of %s ends:\n%s", part, text[max(0, len(text)-3000):])
		}
	})
}

// startPlane starts the control plane and waits until the API server is ready.
func (c *cluster) startPlane(program string) {
	c.Helper()
	store, peer, port := ports.Free(c.T), ports.Free(c.T), ports.Free(c.T)
	authority := certs.NewAuthority(c.T, "cluster")
	pair := authority.Issue(certs.Wish{})
	token := make([]byte, 16)
	_, err := rand.Read(token)
	must(c.T, err)
	secret := hex.EncodeToString(token)
	for name, text := range map[string][]byte{
		"ca.crt": authority.PEM, "api.crt": pair.Cert, "api.key": pair.Key, "accounts.key": accountsKey(c.T),
		"tokens.csv": []byte(secret + ",admin,admin,system:masters\n"),
		"kubeconfig": fmt.Appendf(nil, kubeconfig, filepath.Join(c.dir, "ca.crt"), port, secret),
	} {
		must(c.T, os.WriteFile(filepath.Join(c.dir, name), text, 0o600))
	}
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	at := func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", port) }
	c.start(program, "etcd", "--name=one", "--data-dir="+filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+at(store), "--advertise-client-urls="+at(store),
		"--listen-peer-urls="+at(peer), "--initial-advertise-peer-urls="+at(peer), "--initial-cluster=one="+at(peer))
	c.start(program, "kube-apiserver", "--etcd-servers="+at(store), "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=api.crt", "--tls-private-key-file=api.key", "--token-auth-file=tokens.csv", "--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.96.0.0/16", "--endpoint-reconciler-type=none",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=accounts.key", "--service-account-signing-key-file=accounts.key")
	c.config = &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", port), BearerToken: secret, QPS: 200, Burst: 400,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority.PEM},
	}
	c.client, err = kubernetes.NewForConfig(c.config)
	must(c.T, err)
	proc.Wait(c.T, patience, "the API server is ready", func() bool {
		answer, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(c.Context())
		return err == nil && string(answer) == "ok"
	})
	c.start(program, "kube-controller-manager", "--kubeconfig=kubeconfig", "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file=accounts.key", "--root-ca-file=ca.crt", "--pvclaimbinder-sync-period=1s")
	c.start(program, "kube-scheduler", "--kubeconfig=kubeconfig", "--leader-elect=false", "--secure-port=0")
}

// kubeconfig is the file with the API server's authority, port and token.
const kubeconfig = `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: admin}}]
clusters: [{name: here, cluster: {certificate-authority: %q, server: "https://127.0.0.1:%d"}}]
users: [{name: admin, user: {token: %q}}]
`

// accountsKey makes the key that signs the tokens of service accounts.
func accountsKey(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// makeClass makes the storage class of claims that name none.
func (c *cluster) makeClass() {
	c.Helper()
	reclaim := corev1.PersistentVolumeReclaimDelete
	_, err := c.client.StorageV1().StorageClasses().Create(c.Context(), &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: "folder", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: kubelet.Provisioner, ReclaimPolicy: &reclaim,
	}, metav1.CreateOptions{})
	must(c.T, err)
}

// namespace makes a namespace that only allows pods that meet Kubernetes' restricted security
// standard.
func (c *cluster) namespace(t *testing.T, name string) {
	t.Helper()
	_, err := c.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	must(t, err)
	proc.Wait(t, patience, "the namespace has its service account", func() bool {
		_, err := c.client.CoreV1().ServiceAccounts(name).Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	})
}

// runHelm runs helm and returns its output.
func (c *cluster) runHelm(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "HELM_CACHE_HOME="+c.dir, "HELM_CONFIG_HOME="+c.dir, "HELM_DATA_HOME="+c.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also if the test is killed
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
