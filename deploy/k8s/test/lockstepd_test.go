package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// build builds a program of the repository.
func build(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-tags", "hashicorpmetrics", "-o", path, "./cmd/"+name)
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestLockstepdTakesWhatIsRendered: the configuration and the environment of the
// pod are given to the real program, which checks them and says why not.
func TestLockstepdTakesWhatIsRendered(t *testing.T) {
	lockstepd := build(t, "lockstepd")
	for name, values := range valueSets(t) {
		r := must(t, "demo", values)
		text, err := check(t, lockstepd, r)
		if err != nil || !strings.Contains(text, "the configuration is good") || strings.Contains(text, "has no effect") || strings.Contains(text, "is ignored") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	// The check can fail.
	values := valueSets(t)["default"]
	values["config"] = map[string]any{"maxmemmory": "1gb"}
	if text, err := check(t, lockstepd, must(t, "demo", values)); err == nil || !strings.Contains(text, "maxmemory") {
		t.Errorf("a misspelled directive: %v\n%s", err, text)
	}
}

// check runs lockstepd --check-config as the first pod of a release would start it.
func check(t *testing.T, lockstepd string, r *rendered) (string, error) {
	set := get[appsv1.StatefulSet](r, "")
	c := set.Spec.Template.Spec.Containers[0]
	conf := filepath.Join(t.TempDir(), "lockstep.conf")
	const mounted = "/etc/lockstep/tls"
	text := get[corev1.ConfigMap](r, "-config").Data["lockstep.conf"]
	if strings.Contains(text, mounted) {
		text = strings.ReplaceAll(text, mounted, certificates(t))
	}
	secret := t.TempDir()
	text = strings.ReplaceAll(text, "/etc/lockstep/secret", secret)
	if err := os.WriteFile(filepath.Join(secret, "cluster-secret"), []byte("what-all-pods-of-a-release-know"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The chart's own directives win over those of a ConfigMap that it has not made.
	existing := t.TempDir()
	text = strings.ReplaceAll(text, "/etc/lockstep/existing", existing)
	if err := os.WriteFile(filepath.Join(existing, "more.conf"), []byte("dir /nowhere\ntimeout 60\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.Args[0] != "/etc/lockstep/lockstep.conf" {
		t.Fatalf("args %v", c.Args)
	}
	pod := set.Name + "-0"
	cmd := exec.Command(lockstepd, append(append([]string{conf}, c.Args[1:]...), "--check-config")...)
	for _, e := range c.Env {
		value := strings.ReplaceAll(e.Value, "$(POD_NAME)", pod)
		switch from := e.ValueFrom; {
		case from == nil:
		case from.FieldRef != nil:
			value = pod
		case from.ConfigMapKeyRef != nil:
			value = get[corev1.ConfigMap](r, strings.TrimPrefix(from.ConfigMapKeyRef.Name, set.Name)).Data[from.ConfigMapKeyRef.Key]
		case from.SecretKeyRef != nil:
			value = "from the secret"
		}
		cmd.Env = append(cmd.Env, e.Name+"="+value)
	}
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestClusterctlKnowsItsArguments: what the jobs call is a verb with these flags.
// Each is asked for help, which reads the flags and does nothing.
func TestClusterctlKnowsItsArguments(t *testing.T) {
	clusterctl := build(t, "clusterctl")
	for name, values := range valueSets(t) {
		r := must(t, "demo", values)
		for owner, p := range pods(r) {
			c := p.Spec.Containers[0]
			if c.Command[0] != "/usr/bin/clusterctl" {
				continue
			}
			out, err := exec.Command(clusterctl, append(slices.Clone(c.Args), "--help")...).CombinedOutput()
			text := string(out)
			switch {
			case err != nil || !strings.Contains(text, "clusterctl "+c.Args[0]):
				t.Errorf("%s of %s: %s: %v\n%s", owner, name, strconv.Quote(strings.Join(c.Args, " ")), err, text)
			}
		}
	}
}
