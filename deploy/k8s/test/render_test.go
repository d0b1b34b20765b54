package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = "../lockstep"

// kinds are the types that rendered objects are decoded into, with no field too
// many. Objects of operators have no type here and are decoded as maps.
var kinds = map[string]func() any{
	"apps/v1/StatefulSet":                     func() any { return &appsv1.StatefulSet{} },
	"v1/Service":                              func() any { return &corev1.Service{} },
	"v1/ConfigMap":                            func() any { return &corev1.ConfigMap{} },
	"v1/Secret":                               func() any { return &corev1.Secret{} },
	"v1/ServiceAccount":                       func() any { return &corev1.ServiceAccount{} },
	"v1/Pod":                                  func() any { return &corev1.Pod{} },
	"policy/v1/PodDisruptionBudget":           func() any { return &policyv1.PodDisruptionBudget{} },
	"networking.k8s.io/v1/NetworkPolicy":      func() any { return &netv1.NetworkPolicy{} },
	"batch/v1/Job":                            func() any { return &batchv1.Job{} },
	"batch/v1/CronJob":                        func() any { return &batchv1.CronJob{} },
	"cert-manager.io/v1/Certificate":          func() any { return &map[string]any{} },
	"monitoring.coreos.com/v1/ServiceMonitor": func() any { return &map[string]any{} },
	"monitoring.coreos.com/v1/PrometheusRule": func() any { return &map[string]any{} },
}

// object is one rendered object.
type object struct {
	key  string // kind/name
	meta metav1.ObjectMeta
	body any
	text string
}

// rendered is a release.
type rendered struct {
	objects []object
	notes   string
}

// render renders the chart as helm does, schema included.
func render(release string, values map[string]any) (*rendered, error) {
	return renderWith(release, values, false)
}

// renderWith is render; without the schema as helm --skip-schema-validation does.
func renderWith(release string, values map[string]any, skipSchema bool) (*rendered, error) {
	c, err := loader.Load(chartDir)
	if err != nil {
		return nil, err
	}
	full, err := chartutil.ToRenderValuesWithSchemaValidation(c, values, chartutil.ReleaseOptions{Name: release, Namespace: "db", Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities, skipSchema)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, full)
	if err != nil {
		return nil, err
	}
	r := &rendered{}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasSuffix(name, "NOTES.txt") {
			r.notes = files[name]
			continue
		}
		for _, doc := range strings.Split("\n"+files[name], "\n---") {
			o, err := decode(doc)
			if err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", name, err, doc)
			}
			if o != nil {
				r.objects = append(r.objects, *o)
			}
		}
	}
	slices.SortFunc(r.objects, func(a, b object) int { return strings.Compare(a.key, b.key) })
	return r, nil
}

// decode reads one document into the type of its kind, strictly. It returns nil for an empty document.
func decode(doc string) (*object, error) {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metav1.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
		return nil, err
	}
	if head.Kind == "" {
		return nil, nil
	}
	make, known := kinds[head.APIVersion+"/"+head.Kind]
	if !known {
		return nil, fmt.Errorf("unexpected kind %s/%s", head.APIVersion, head.Kind)
	}
	o := &object{key: head.Kind + "/" + head.Metadata.Name, meta: head.Metadata, body: make(), text: doc}
	return o, yaml.UnmarshalStrict([]byte(doc), o.body)
}

// valueSets are the files under values, by name.
func valueSets(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("values/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no values", err)
	}
	sets := map[string]map[string]any{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := yaml.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		sets[strings.TrimSuffix(filepath.Base(f), ".yaml")] = v
	}
	return sets
}

// must renders or fails the test.
func must(t *testing.T, release string, values map[string]any) *rendered {
	t.Helper()
	r, err := render(release, values)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// get finds the object of a kind whose name ends with suffix, or nil.
func get[T any](r *rendered, suffix string) *T {
	for _, o := range r.objects {
		if body, ok := o.body.(*T); ok && strings.HasSuffix(o.meta.Name, suffix) {
			return body
		}
	}
	return nil
}
