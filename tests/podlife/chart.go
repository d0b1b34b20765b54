package podlife

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// goldenDir is where the chart's tests keep the rendered objects.
const goldenDir = "../../deploy/k8s/test/golden"

// probe is a check that the kubelet makes.
type probe struct {
	HTTPGet struct {
		Path   string `yaml:"path"`
		Port   string `yaml:"port"`
		Scheme string `yaml:"scheme"`
	} `yaml:"httpGet"`
	PeriodSeconds    int `yaml:"periodSeconds"`
	TimeoutSeconds   int `yaml:"timeoutSeconds"`
	FailureThreshold int `yaml:"failureThreshold"`
}

// keyRef refers to a value in another object.
type keyRef struct {
	Name string `yaml:"name"`
	Key  string `yaml:"key"`
}

// container has the fields of a container that this package needs.
type container struct {
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
	Env     []struct {
		Name      string `yaml:"name"`
		Value     string `yaml:"value"`
		ValueFrom struct {
			FieldRef struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
			ConfigMapKeyRef keyRef `yaml:"configMapKeyRef"`
			SecretKeyRef    keyRef `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	StartupProbe   probe `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
}

// object has the fields of an object that this package needs.
type object struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name        string            `yaml:"name"`
		Namespace   string            `yaml:"namespace"`
		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Data       map[string]string `yaml:"data"`
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		ServiceName string      `yaml:"serviceName"`
		DNSNames    []string    `yaml:"dnsNames"`
		Template    podTemplate `yaml:"template"`
		JobTemplate struct {
			Spec struct {
				Template podTemplate `yaml:"template"`
			} `yaml:"spec"`
		} `yaml:"jobTemplate"`
	} `yaml:"spec"`
}

// podTemplate has the fields of a pod template that this package needs.
type podTemplate struct {
	Spec struct {
		Grace           int `yaml:"terminationGracePeriodSeconds"`
		SecurityContext struct {
			RunAsUser int `yaml:"runAsUser"`
		} `yaml:"securityContext"`
		Containers []container `yaml:"containers"`
	} `yaml:"spec"`
}

// chart is a rendered release.
type chart struct {
	t testing.TB
	// name is the name of the StatefulSet, namespace its namespace.
	name, namespace, headless string
	grace                     time.Duration
	user                      int
	node, job                 container
	// backup is the CronJob's container. It is empty unless the values enable it.
	backup container
	// dnsNames are the names that the nodes' certificate must have.
	dnsNames []string
	// values are the contents of ConfigMaps and Secrets, by kind, name and key.
	values map[[3]string]string
}

// readChart reads the rendered objects for a set of values.
func readChart(t testing.TB, set string) *chart {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenDir, set+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := &chart{t: t, values: map[[3]string]string{}}
	manifests, _, found := strings.Cut(string(text), "\n--- NOTES\n")
	if !found {
		t.Fatal("no notes in what was rendered")
	}
	for in := yaml.NewDecoder(bytes.NewReader([]byte(manifests))); ; {
		var o object
		err := in.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		c.take(&o)
	}
	if c.name == "" || len(c.job.Args) == 0 {
		t.Fatalf("%s has no StatefulSet or no Job", set)
	}
	return c
}

func (c *chart) take(o *object) {
	switch o.Kind {
	case "StatefulSet":
		pod := o.Spec.Template.Spec
		c.name, c.namespace, c.headless = o.Metadata.Name, o.Metadata.Namespace, o.Spec.ServiceName
		c.grace, c.user, c.node = time.Duration(pod.Grace)*time.Second, pod.SecurityContext.RunAsUser, pod.Containers[0]
	case "Job":
		if strings.Contains(o.Metadata.Annotations["helm.sh/hook"], "pre-upgrade") {
			c.job = o.Spec.Template.Spec.Containers[0]
		}
	case "CronJob":
		c.backup = o.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
	case "Certificate":
		c.dnsNames = o.Spec.DNSNames
	case "ConfigMap", "Secret":
		for _, data := range []map[string]string{o.Data, o.StringData} {
			for key, value := range data {
				c.values[[3]string{o.Kind, o.Metadata.Name, key}] = value
			}
		}
	}
}

// resize changes what another replicaCount would change: the number that new pods get, and the
// Job's argument.
func (c *chart) resize(replicas int) {
	c.t.Helper()
	c.values[[3]string{"ConfigMap", c.name + "-size", "replicas"}] = strconv.Itoa(replicas)
	for i, arg := range c.job.Args {
		if arg == "--to" {
			c.job.Args[i+1] = strconv.Itoa(replicas)
			return
		}
	}
	c.t.Fatalf("the Job does not say how many are to stay: %q", c.job.Args)
}

// conf is lockstep.conf.
func (c *chart) conf() string {
	return c.values[[3]string{"ConfigMap", c.name + "-config", "lockstep.conf"}]
}

// secret is the cluster secret of the nodes.
func (c *chart) secret() []byte {
	c.t.Helper()
	text, err := base64.StdEncoding.DecodeString(c.values[[3]string{"Secret", c.name + "-peers", "cluster-secret"}])
	if err != nil || len(text) == 0 {
		c.t.Fatalf("the chart's secret for the nodes is %q, %v", text, err)
	}
	return text
}

// password is the password of clients.
func (c *chart) password() string {
	return c.values[[3]string{"Secret", c.name + "-auth", "password"}]
}

// secure reports whether clients use TLS.
func (c *chart) secure() bool { return strings.Contains(c.conf(), "\ntls-port ") }

// domain is the suffix of the names of the namespace's Services.
func (c *chart) domain() string { return c.namespace + ".svc.cluster.local" }

// host is the full name of a pod in the cluster.
func (c *chart) host(pod string) string { return pod + "." + c.headless + "." + c.domain() }

// environment returns the environment of a container in a pod.
func (c *chart) environment(in *container, pod string) []string {
	c.t.Helper()
	var env []string
	known := []string{}
	for _, e := range in.Env {
		value := strings.NewReplacer(known...).Replace(e.Value)
		from := e.ValueFrom
		key := [3]string{"ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key}
		if from.SecretKeyRef.Name != "" {
			key = [3]string{"Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key}
		}
		switch {
		case from.FieldRef.FieldPath == "metadata.name":
			value = pod
		case from.FieldRef.FieldPath != "":
			c.t.Fatalf("%s is of %s, which nobody here knows", e.Name, from.FieldRef.FieldPath)
		case key[1] != "":
			var there bool
			if value, there = c.values[key]; !there {
				c.t.Fatalf("%s is of %v, which is not there: the pod would not start", e.Name, key)
			}
		}
		known = append(known, "$("+e.Name+")", value)
		env = append(env, e.Name+"="+value)
	}
	return env
}

// port is the number of a port of the nodes.
func (c *chart) port(name string) int {
	c.t.Helper()
	for _, p := range c.node.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	c.t.Fatal(fmt.Errorf("no port is called %s", name))
	return 0
}
