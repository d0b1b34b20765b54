package chart

import (
	"fmt"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"
)

// secretVolume is the Secret that the nodes have their cluster's secret from, and its
// key.
func secretVolume(t *testing.T, r *rendered) (name, key string) {
	t.Helper()
	for _, v := range get[appsv1.StatefulSet](r, "").Spec.Template.Spec.Volumes {
		if v.Name == "cluster-secret" {
			return v.Secret.SecretName, v.Secret.Items[0].Key
		}
	}
	t.Fatal("no volume has the cluster's secret")
	return "", ""
}

// TestTheChartMakesTheSecret: a new one for each release, long enough, kept when the
// release goes; and none beside one that was named.
func TestTheChartMakesTheSecret(t *testing.T) {
	values := map[string]any{"auth": map[string]any{"enabled": false}}
	var seen []string
	for range 2 {
		r := must(t, "demo", values)
		name, key := secretVolume(t, r)
		s := get[corev1.Secret](r, "-peers")
		if s == nil || s.Name != name || s.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Fatalf("the nodes want %s, and there is %+v", name, s)
		}
		if text := string(s.Data[key]); len(text) != 48 || slices.Contains(seen, text) {
			t.Errorf("drawn %q", text)
		}
		seen = append(seen, string(s.Data[key]))
	}
	values["clusterSecret"] = map[string]any{"existingSecret": "ours", "key": "k"}
	r := must(t, "demo", values)
	if name, key := secretVolume(t, r); name != "ours" || key != "k" || get[corev1.Secret](r, "-peers") != nil {
		t.Errorf("the nodes want %s of %s", key, name)
	}
}

// TestAnUpgradeKeepsTheSecret that is there, also one that was changed by hand.
func TestAnUpgradeKeepsTheSecret(t *testing.T) {
	there := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "demo-lockstep-peers", "namespace": "db"},
		"data": map[string]any{"cluster-secret": "dGhlLW5leHQtb25lLWFuZCB0aGUtbGFzdC1vbmUtb2YtYWxs"},
	}}
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(c, map[string]any{"auth": map[string]any{"enabled": false}},
		chartutil.ReleaseOptions{Name: "demo", Namespace: "db", Revision: 2, IsUpgrade: true}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.RenderWithClientProvider(c, values, cluster{fake.NewSimpleDynamicClient(runtime.NewScheme(), there)})
	if err != nil {
		t.Fatal(err)
	}
	var s corev1.Secret
	if err := yaml.Unmarshal([]byte(files["lockstep/templates/secret.yaml"]), &s); err != nil {
		t.Fatal(err)
	}
	if got := string(s.Data["cluster-secret"]); got != "the-next-one-and the-last-one-of-all" {
		t.Errorf("the secret becomes %q", got)
	}
}

// cluster is a Kubernetes that has some objects.
type cluster struct{ client *fake.FakeDynamicClient }

func (c cluster) GetClientFor(_, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	if kind != "Secret" {
		return nil, false, fmt.Errorf("nobody asks for a %s here", kind)
	}
	return c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}), true, nil
}
