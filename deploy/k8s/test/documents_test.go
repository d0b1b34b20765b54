package chart

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
)

// applied are the manifests that docs/kubernetes.md has people apply.
var applied = regexp.MustCompile(`(?s)kubectl apply -f - <<'EOF'\n(.*?)\n    EOF\n`)

// TestThePodsOfTheDocumentsAreGood: what people copy from docs/kubernetes.md is a
// restricted Pod with no field too many, and clusterctl takes its arguments. Who speaks
// with a release is let in by its NetworkPolicy.
func TestThePodsOfTheDocumentsAreGood(t *testing.T) {
	text, err := os.ReadFile("../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	clusterctl := build(t, "clusterctl")
	found := applied.FindAllStringSubmatch(string(text), -1)
	if len(found) != 2 {
		t.Fatalf("%d manifests were found", len(found))
	}
	policy := get[netv1.NetworkPolicy](must(t, "new", map[string]any{"auth": map[string]any{"existingSecret": "lockstep-auth"}}), "")
	for _, m := range found {
		o, err := decode(strings.ReplaceAll("\n"+m[1], "\n    ", "\n"))
		if err != nil {
			t.Fatal(err)
		}
		pod, ok := o.body.(*corev1.Pod)
		if !ok || len(pod.Spec.Containers) != 1 {
			t.Fatalf("%s", o.text)
		}
		c, s := pod.Spec.Containers[0], pod.Spec.SecurityContext
		if !*s.RunAsNonRoot || *s.RunAsUser != 10060 || *s.FSGroup != 10060 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
			!*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation || !slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s is not restricted", o.key)
		}
		out, err := exec.Command(clusterctl, append(slices.Clone(c.Command[1:]), "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "clusterctl "+c.Command[1]) {
			t.Errorf("%s: %q: %v\n%s", o.key, c.Command, err, out)
		}
		if slices.Contains(c.Command, "--addr") && !letsIn(policy, pod.Labels) {
			t.Errorf("%s may not speak with the release: its labels are %v", o.key, pod.Labels)
		}
	}
}

// letsIn reports whether a rule for certain pods of the namespace, and not for all, lets
// one reach the client port.
func letsIn(policy *netv1.NetworkPolicy, labels map[string]string) bool {
	for _, rule := range policy.Spec.Ingress {
		for _, from := range rule.From {
			if from.PodSelector != nil && selects(from.PodSelector.MatchLabels, labels) && rule.Ports[0].Port.String() == "client" {
				return true
			}
		}
	}
	return false
}
