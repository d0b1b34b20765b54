package chart

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	netv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// pods are the pod templates of a release by the name of their owner.
func pods(r *rendered) map[string]corev1.PodTemplateSpec {
	all := map[string]corev1.PodTemplateSpec{}
	for _, o := range r.objects {
		switch b := o.body.(type) {
		case *appsv1.StatefulSet:
			all[o.key] = b.Spec.Template
		case *batchv1.Job:
			all[o.key] = b.Spec.Template
		case *batchv1.CronJob:
			all[o.key] = b.Spec.JobTemplate.Spec.Template
		case *corev1.Pod:
			all[o.key] = corev1.PodTemplateSpec{ObjectMeta: b.ObjectMeta, Spec: b.Spec}
		}
	}
	return all
}

func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// awkward are release names that YAML reads as something else than a text, and
// the longest one.
var awkward = []string{"demo", "n", "on", "1e3", "123", "null", "lockstep", strings.Repeat("a", 53), "a-" + strings.Repeat("b", 36) + "-" + strings.Repeat("c", 14)}

func TestTheRulesHoldForEverySetOfValues(t *testing.T) {
	for name, values := range valueSets(t) {
		for _, release := range awkward {
			r, err := render(release, values)
			if err != nil {
				t.Errorf("%s as %s: %v", name, release, err)
				continue
			}
			t.Run(name+"/"+release, func(t *testing.T) {
				checkNames(t, r)
				checkPods(t, r)
				checkSelectors(t, r)
			})
		}
	}
}

// letterFirst is what the API server takes for a Service's name (RFC 1035).
var letterFirst = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

func checkNames(t *testing.T, r *rendered) {
	seen := map[string]bool{}
	for _, o := range r.objects {
		if seen[o.key] {
			t.Errorf("%s is there twice", o.key)
		}
		seen[o.key] = true
		if o.meta.Namespace != "db" && !strings.HasSuffix(o.key, "-more") {
			t.Errorf("%s is in namespace %q", o.key, o.meta.Namespace)
		}
		if _, service := o.body.(*corev1.Service); service && !letterFirst.MatchString(o.meta.Name) {
			t.Errorf("%s: the name of a Service begins with a letter", o.key)
		}
		// A pod's name has an ordinal or a hash behind it and must fit a label, and
		// a CronJob's jobs have eleven characters more.
		if len(o.meta.Name) > 52 {
			t.Errorf("%s is too long a name", o.key)
		}
	}
}

func checkPods(t *testing.T, r *rendered) {
	for owner, p := range pods(r) {
		s := p.Spec
		if s.SecurityContext == nil || s.SecurityContext.RunAsNonRoot == nil || !*s.SecurityContext.RunAsNonRoot || s.SecurityContext.SeccompProfile == nil {
			t.Errorf("%s: the pod is not restricted", owner)
		}
		if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken || s.EnableServiceLinks == nil || *s.EnableServiceLinks {
			t.Errorf("%s has a token or service links", owner)
		}
		volumes := map[string]bool{"data": strings.HasPrefix(owner, "StatefulSet/")}
		for _, v := range s.Volumes {
			volumes[v.Name] = true
		}
		for _, c := range s.Containers {
			if c.Name == "side" { // from extraContainers
				continue
			}
			checkContainer(t, owner, c, volumes)
		}
	}
}

func checkContainer(t *testing.T, owner string, c corev1.Container, volumes map[string]bool) {
	sc := c.SecurityContext
	if sc == nil || !*sc.ReadOnlyRootFilesystem || *sc.AllowPrivilegeEscalation || len(sc.Capabilities.Drop) != 1 || sc.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%s/%s is not restricted", owner, c.Name)
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s/%s: no requests or no memory limit", owner, c.Name)
	}
	if strings.HasSuffix(c.Image, ":latest") || !strings.ContainsAny(c.Image, ":@") {
		t.Errorf("%s/%s runs image %s", owner, c.Name, c.Image)
	}
	for _, arg := range slices.Concat(c.Command, c.Args) {
		if strings.Contains(arg, "s3cret") || strings.Contains(arg, "password") {
			t.Errorf("%s/%s has a secret among its arguments", owner, c.Name)
		}
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s/%s mounts %s, which is no volume", owner, c.Name, m.Name)
		}
	}
	for _, e := range c.Env {
		if (strings.Contains(e.Name, "PASS")) && e.Value != "" {
			t.Errorf("%s/%s has a secret in plain in %s", owner, c.Name, e.Name)
		}
	}
}

func checkSelectors(t *testing.T, r *rendered) {
	set := get[appsv1.StatefulSet](r, "")
	labels := set.Spec.Template.Labels
	if !selects(set.Spec.Selector.MatchLabels, labels) {
		t.Error("the StatefulSet does not select its pods")
	}
	for k := range set.Spec.Selector.MatchLabels {
		if k == "helm.sh/chart" || k == "app.kubernetes.io/version" {
			t.Errorf("the selector has %s, which changes", k)
		}
	}
	ports := map[string]bool{}
	for _, p := range set.Spec.Template.Spec.Containers[0].Ports {
		ports[p.Name] = true
	}
	for _, o := range r.objects {
		switch b := o.body.(type) {
		case *corev1.Service:
			if !selects(b.Spec.Selector, labels) {
				t.Errorf("%s does not select the pods", o.key)
			}
			for _, p := range b.Spec.Ports {
				if !ports[p.TargetPort.String()] {
					t.Errorf("%s leads to port %s, which no container has", o.key, p.TargetPort.String())
				}
			}
		case *policyv1.PodDisruptionBudget:
			if !selects(b.Spec.Selector.MatchLabels, labels) || b.Spec.MaxUnavailable.IntValue() != 1 || *b.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
				t.Errorf("%s: %+v", o.key, b.Spec)
			}
		case *netv1.NetworkPolicy:
			if !selects(b.Spec.PodSelector.MatchLabels, labels) {
				t.Errorf("%s does not select the pods", o.key)
			}
		}
	}
	for owner, p := range pods(r) {
		if !strings.HasPrefix(owner, "StatefulSet/") && selects(set.Spec.Selector.MatchLabels, p.Labels) {
			t.Errorf("%s would be taken for a node", owner)
		}
	}
}

// TestTheStatefulSetIsWhatTheClusterNeeds: each of these was somebody's outage.
func TestTheStatefulSetIsWhatTheClusterNeeds(t *testing.T) {
	r := must(t, "demo", valueSets(t)["default"])
	set := get[appsv1.StatefulSet](r, "")
	headless := get[corev1.Service](r, "-nodes")
	switch {
	case set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement:
		t.Error("pods would wait for pods that wait for them")
	case set.Spec.ServiceName != headless.Name || headless.Spec.ClusterIP != "None" || !headless.Spec.PublishNotReadyAddresses:
		t.Error("nodes that are not ready would not be found")
	case *set.Spec.Template.Spec.TerminationGracePeriodSeconds < 60 || set.Spec.MinReadySeconds < 10:
		t.Error("too hasty")
	case set.Spec.PersistentVolumeClaimRetentionPolicy.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType:
		t.Error("disks would go")
	}
	c := set.Spec.Template.Spec.Containers[0]
	for path, probe := range map[string]*corev1.Probe{"/startupz": c.StartupProbe, "/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.String() != "admin" {
			t.Errorf("%s: %+v", path, probe)
		}
	}
	// A pod that ends is told to so many clients for so long: kube-proxies and load
	// balancers take seconds to hear of it.
	if conf := get[corev1.ConfigMap](r, "-config").Data["lockstep.conf"]; !strings.Contains(conf, "\nshutdown-delay-ms 5000\n") {
		t.Error("a pod that ends refuses the clients that are still sent to it")
	}
	if c.Lifecycle != nil {
		t.Error("there is a hook at the end of a pod, which cannot tell a restart from a scale-down")
	}
}

// TestNothingIsPlainUnderTLS: no port is, except the admin port if its user wants that.
func TestNothingIsPlainUnderTLS(t *testing.T) {
	values := valueSets(t)["tls"]
	look := func(want corev1.URIScheme) (conf, monitor string) {
		r := must(t, "demo", values)
		c := get[appsv1.StatefulSet](r, "").Spec.Template.Spec.Containers[0]
		for path, probe := range map[string]*corev1.Probe{"/startupz": c.StartupProbe, "/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
			if probe.HTTPGet.Scheme != want {
				t.Errorf("%s is asked for by %q, not %q", path, probe.HTTPGet.Scheme, want)
			}
		}
		for _, o := range r.objects {
			if o.key == "ServiceMonitor/demo-lockstep" {
				monitor = o.text
			}
		}
		return get[corev1.ConfigMap](r, "-config").Data["lockstep.conf"], monitor
	}
	conf, monitor := look("HTTPS")
	for _, line := range []string{"port 0", "tls-port 6379", "tls-cluster yes", "tls-admin yes"} {
		if !strings.Contains(conf, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, conf)
		}
	}
	if !strings.Contains(monitor, "scheme: https") || !strings.Contains(monitor, `secret: {name: "demo-lockstep-tls", key: ca.crt}`) {
		t.Errorf("the scrape is plain:\n%s", monitor)
	}
	values["tls"].(map[string]any)["admin"] = false
	if conf, monitor = look(""); strings.Contains(conf, "tls-admin") || strings.Contains(monitor, "https") {
		t.Errorf("the admin port is not plain:\n%s\n%s", conf, monitor)
	}
}

// TestValuesReachTheConfiguration as they were written: numbers of YAML among them.
func TestValuesReachTheConfiguration(t *testing.T) {
	conf := get[corev1.ConfigMap](must(t, "demo", valueSets(t)["everything"]), "-config").Data["lockstep.conf"]
	for _, line := range []string{"shards 4", "maxclients 1000000", `save ""`, "latency-tracking no", "latency-tracking-info-percentiles 99.9", "aclfile /etc/lockstep/users/users.acl"} {
		if !strings.Contains(conf+"\n", "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, conf)
		}
	}
}

// TestWhatIsAddedStandsWhereItCounts: the chart's own directives come behind those of a
// ConfigMap that it has not made, and extra ones behind its own.
func TestWhatIsAddedStandsWhereItCounts(t *testing.T) {
	r := must(t, "demo", valueSets(t)["everything"])
	conf := get[corev1.ConfigMap](r, "-config").Data["lockstep.conf"]
	at := -1
	for _, line := range []string{"include /etc/lockstep/existing/*.conf", "dir /data", "shards 4", "client-output-buffer-limit normal 0 0 0", "client-output-buffer-limit pubsub 64mb 16mb 60"} {
		next := strings.Index("\n"+conf+"\n", "\n"+line+"\n")
		if next <= at {
			t.Errorf("%q is not where it should be in\n%s", line, conf)
		}
		at = next
	}
	spec := get[appsv1.StatefulSet](r, "").Spec.Template.Spec
	c := spec.Containers[0]
	if want := []string{"/etc/lockstep/lockstep.conf", "--loglevel", "verbose", "--slowlog-max-len", "256"}; !slices.Equal(c.Args, want) {
		t.Errorf("args %q", c.Args)
	}
	mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == "existing-config" && m.MountPath == "/etc/lockstep/existing"
	})
	shown := slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == "existing-config" && v.ConfigMap != nil && v.ConfigMap.Name == "ours"
	})
	if !mounted || !shown || len(c.EnvFrom) != 1 || len(spec.InitContainers) != 1 {
		t.Errorf("mounted %v, shown %v, envFrom %v, initContainers %v", mounted, shown, c.EnvFrom, spec.InitContainers)
	}
	spread := spec.TopologySpreadConstraints
	if len(spread) != 2 || spread[0].TopologyKey != "rack" || !selects(spread[0].LabelSelector.MatchLabels, get[appsv1.StatefulSet](r, "").Spec.Template.Labels) || spread[1].LabelSelector.MatchLabels["x"] != "y" {
		t.Errorf("spread %+v", spread)
	}
	for owner, p := range pods(r) {
		job := !strings.HasPrefix(owner, "StatefulSet/")
		proxy := slices.ContainsFunc(p.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" })
		ca := slices.ContainsFunc(p.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/ca" })
		if proxy != job || ca != job || (p.Annotations["sidecar"] == "false") != job || (p.Labels["e"] == "5") != job {
			t.Errorf("%s: labels %v, annotations %v, proxy %v", owner, p.Labels, p.Annotations, proxy)
		}
	}
}

// TestBackupsMayHaveARole: in the place of a Secret, and with none of its variables,
// which would win over it.
func TestBackupsMayHaveARole(t *testing.T) {
	values := valueSets(t)["default"]
	values["backup"] = map[string]any{"enabled": true, "s3": map[string]any{"bucket": "backups", "serviceAccountName": "backups"}}
	spec := get[batchv1.CronJob](must(t, "demo", values), "-backup").Spec.JobTemplate.Spec.Template.Spec
	if spec.ServiceAccountName != "backups" || slices.ContainsFunc(spec.Containers[0].Env, func(e corev1.EnvVar) bool { return strings.HasPrefix(e.Name, "AWS_") }) {
		t.Errorf("%q %v", spec.ServiceAccountName, spec.Containers[0].Env)
	}
}

// TestPasswordsCanBeTurnedOn: the Job runs before the Secret of the same upgrade is
// there, and must not wait for it; a node must not run without it.
func TestPasswordsCanBeTurnedOn(t *testing.T) {
	r := must(t, "demo", valueSets(t)["default"])
	optional := func(c corev1.Container) (optional, found bool) {
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				return e.ValueFrom.SecretKeyRef.Optional != nil && *e.ValueFrom.SecretKeyRef.Optional, true
			}
		}
		return false, false
	}
	if is, found := optional(get[batchv1.Job](r, "-scale-down").Spec.Template.Spec.Containers[0]); !is || !found {
		t.Error("the Job waits for a Secret that the upgrade is to make")
	}
	if is, found := optional(get[appsv1.StatefulSet](r, "").Spec.Template.Spec.Containers[0]); is || !found {
		t.Error("a node would run without the password")
	}
}

// TestAScaleUpRestartsNobody: the pod template does not know how many pods there are.
func TestAScaleUpRestartsNobody(t *testing.T) {
	values := valueSets(t)["default"]
	three := get[appsv1.StatefulSet](must(t, "demo", values), "")
	values["replicaCount"] = 5
	r := must(t, "demo", values)
	five := get[appsv1.StatefulSet](r, "")
	if three.Spec.Template.String() != five.Spec.Template.String() {
		t.Error("the pod template changes with replicaCount")
	}
	if get[corev1.ConfigMap](r, "-size").Data["replicas"] != "5" {
		t.Error("new pods are not told the number")
	}
	values["config"] = map[string]any{"maxmemory": "1gb"}
	if other := get[appsv1.StatefulSet](must(t, "demo", values), ""); other.Spec.Template.String() == five.Spec.Template.String() {
		t.Error("another configuration restarts nobody, and nobody would read it")
	}
}

// TestAnAnnotationRollsThePods: a user with a ConfigMap or a Secret that the chart does
// not see can roll the pods by its checksum. The same checksum rolls nothing.
func TestAnAnnotationRollsThePods(t *testing.T) {
	template := func(checksum string) string {
		values := valueSets(t)["everything"]
		values["podAnnotations"] = map[string]any{"settings": checksum}
		set := get[appsv1.StatefulSet](must(t, "demo", values), "")
		if set.Spec.Template.Annotations["settings"] != checksum || set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
			t.Errorf("annotations %v, updates %v", set.Spec.Template.Annotations, set.Spec.UpdateStrategy)
		}
		return set.Spec.Template.String()
	}
	if first := template("1e3"); first == template("2e3") || first != template("1e3") {
		t.Error("the pod template does not change with the annotation, and with nothing else")
	}
}

// TestMembersGoBeforeTheirPods: the Job runs before the upgrade, with the new number.
func TestMembersGoBeforeTheirPods(t *testing.T) {
	values := valueSets(t)["default"]
	values["replicaCount"] = 1
	job := get[batchv1.Job](must(t, "demo", values), "-scale-down")
	args := strings.Join(job.Spec.Template.Spec.Containers[0].Args, " ")
	if job.Annotations["helm.sh/hook"] != "pre-upgrade,pre-rollback" || !strings.HasPrefix(args, "scale --yes --to 1 --prefix demo-lockstep- ") {
		t.Fatalf("%v %s", job.Annotations, args)
	}
}

// TestWhatIsWrongIsRefused: by the schema, or by the templates, in words.
func TestWhatIsWrongIsRefused(t *testing.T) {
	for text, values := range map[string]map[string]any{
		"replicaCounts":                {"replicaCounts": 5},
		"replicaCount":                 {"replicaCount": "3"},
		"minimum":                      {"replicaCount": 0},
		"auth.password":                {},
		"passwort":                     {"auth": map[string]any{"passwort": "x"}},
		"pattern":                      {"persistence": map[string]any{"size": "ten"}},
		"ReadWriteMany":                {"persistence": map[string]any{"accessModes": []any{"ReadWriteMany"}}},
		"latest":                       {"auth": map[string]any{"enabled": false}, "image": map[string]any{"tag": "latest"}},
		"chart itself":                 {"auth": map[string]any{"enabled": false}, "config": map[string]any{"dir": "/tmp"}},
		"config.tls-admin":             {"auth": map[string]any{"enabled": false}, "config": map[string]any{"tls-admin": true}},
		"more than one line":           {"auth": map[string]any{"enabled": false}, "config": map[string]any{"maxmemory": "1gb\nrequirepass x"}},
		"tls.existingSecret":           {"auth": map[string]any{"enabled": false}, "tls": map[string]any{"enabled": true}},
		"existingClaim":                {"auth": map[string]any{"enabled": false}, "backup": map[string]any{"enabled": true}},
		"s3.existingSecret":            {"auth": map[string]any{"enabled": false}, "backup": map[string]any{"enabled": true, "s3": map[string]any{"bucket": "backups"}}},
		"config.aclfile":               {"auth": map[string]any{"enabled": false, "usersSecret": "people"}, "config": map[string]any{"aclfile": "/etc/users"}},
		"networkPolicy.clients":        {"auth": map[string]any{"enabled": false}, "service": map[string]any{"loadBalancerSourceRanges": []any{"10.0.0.0/8"}}},
		"app.kubernetes.io/name":       {"auth": map[string]any{"enabled": false}, "commonLabels": map[string]any{"app.kubernetes.io/name": "shop"}},
		"app.kubernetes.io/component":  {"auth": map[string]any{"enabled": false}, "podLabels": map[string]any{"app.kubernetes.io/component": "shop"}},
		"extraConfig: tls-admin":       {"auth": map[string]any{"enabled": false}, "extraConfig": "# all\n maxclients 5\n TLS-Admin yes"},
		"extraConfig: include":         {"auth": map[string]any{"enabled": false}, "extraConfig": "include /etc/more.conf"},
		"extraArgs: --dir":             {"auth": map[string]any{"enabled": false}, "extraArgs": []any{"--maxclients", 5, "--dir", "/tmp"}},
		"extraArgs: --port":            {"auth": map[string]any{"enabled": false}, "extraArgs": []any{"--PORT=7"}},
		"extraEnv: LOCKSTEP_NODE_NAME": {"auth": map[string]any{"enabled": false}, "extraEnv": []any{map[string]any{"name": "LOCKSTEP_NODE_NAME", "value": "x"}}},
		"name":                         {"auth": map[string]any{"enabled": false}, "extraEnv": []any{map[string]any{"nane": "A"}}},
		"loadBalancerClass":            {"auth": map[string]any{"enabled": false}, "service": map[string]any{"loadBalancerClass": "internal"}},
		"externalTrafficPolicy":        {"auth": map[string]any{"enabled": false}, "service": map[string]any{"externalTrafficPolicy": "Local"}},
		"podLabel":                     {"auth": map[string]any{"enabled": false}, "jobs": map[string]any{"podLabel": map[string]any{"a": "b"}}},
		"not both":                     {"auth": map[string]any{"enabled": false}, "backup": map[string]any{"enabled": true, "existingClaim": "c", "s3": map[string]any{"bucket": "backups", "existingSecret": "s"}}},
	} {
		if _, err := render("demo", values); err == nil || !strings.Contains(err.Error(), text) && text != "pattern" && text != "ReadWriteMany" && text != "minimum" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// ownDirectives are the directives that a release of these values is given by the chart
// itself, as the pod finds them: in lockstep.conf and in its environment.
func ownDirectives(t *testing.T, values map[string]any) []string {
	t.Helper()
	r := must(t, "demo", values)
	var names []string
	for _, line := range strings.Split(get[corev1.ConfigMap](r, "-config").Data["lockstep.conf"], "\n") {
		name, _, _ := strings.Cut(line, " ")
		// The one that the chart only has another default for; maxmemory is the values'.
		if name != "" && name != "#" && name != "shutdown-delay-ms" && name != "maxmemory" {
			names = append(names, name)
		}
	}
	for _, e := range get[appsv1.StatefulSet](r, "").Spec.Template.Spec.Containers[0].Env {
		if name, ok := strings.CutPrefix(e.Name, "LOCKSTEP_"); ok {
			names = append(names, strings.ReplaceAll(strings.ToLower(name), "_", "-"))
		}
	}
	return names
}

// TestTheChartsDirectivesAreNobodyElses: each directive that a release is given by the
// chart is refused wherever values may name one, in whatever case of letters, for
// lockstepd reads them so. The schema takes no capitals in config; who skips it is
// refused by the templates.
func TestTheChartsDirectivesAreNobodyElses(t *testing.T) {
	with := func(more map[string]any) map[string]any {
		values := map[string]any{
			"auth": map[string]any{"existingSecret": "mine", "usersSecret": "people"},
			"tls":  map[string]any{"enabled": true, "existingSecret": "certificates"}, "existingConfigMap": "ours",
		}
		maps.Copy(values, more)
		return values
	}
	names := ownDirectives(t, with(nil))
	for _, name := range []string{"aclfile", "include", "tls-admin", "requirepass", "dir", "bootstrap-expect"} {
		if !slices.Contains(names, name) {
			t.Fatalf("%s is not among %q", name, names)
		}
	}
	for _, name := range names {
		written := strings.ToUpper(name)
		env := "LOCKSTEP_" + strings.ReplaceAll(written, "-", "_")
		for where, more := range map[string]map[string]any{
			"config." + written:                {"config": map[string]any{written: "x"}},
			"extraConfig: " + name:             {"extraConfig": "maxclients 5\n\t\"" + written + "\"\tx"},
			"extraArgs: --" + name:             {"extraArgs": []any{"--maxclients", 5, "--" + written, "x"}},
			"extraArgs: --" + name + " is set": {"extraArgs": []any{"--" + written + "=x"}},
			"extraEnv: " + env:                 {"extraEnv": []any{map[string]any{"name": env, "value": "x"}}},
		} {
			if _, err := renderWith("demo", with(more), true); err == nil || !strings.Contains(err.Error(), where) {
				t.Errorf("%s as %v: %v", where, more, err)
			}
		}
	}
	// Without a users' Secret an aclfile is the user's own.
	own := map[string]any{"auth": map[string]any{"existingSecret": "mine"}, "config": map[string]any{"aclfile": "/extra/users.acl"}}
	if _, err := render("demo", own); err != nil {
		t.Error(err)
	}
	if _, err := render("demo", with(map[string]any{"config": map[string]any{"ACLFILE": "x"}})); err == nil || !strings.Contains(err.Error(), "ACLFILE") {
		t.Errorf("the schema lets capitals through: %v", err)
	}
}

// TestTheNotesSayWhatIsRisky: and show nobody how to put a password on a command line.
func TestTheNotesSayWhatIsRisky(t *testing.T) {
	off := map[string]any{"enabled": false}
	for words, values := range map[string]map[string]any{
		"--timeout 1860s":                         {"auth": map[string]any{"existingSecret": "x"}},
		"config.maxmemory is not set":             {"auth": off, "config": map[string]any{"maxmemory": nil}},
		"no password is asked":                    {"auth": off},
		"persistence is off":                      {"auth": off, "persistence": off},
		"bear the loss of no more than 3":         {"auth": off, "replicaCount": 4},
		"the ConfigMap ours when it starts":       {"auth": off, "existingConfigMap": "ours"},
		"rollout restart statefulset/demo-lockst": {"auth": off, "existingConfigMap": "ours"},
		"not what comes through the LoadBalancer": {"auth": off, "service": map[string]any{"type": "LoadBalancer"}},
		"clusterctl status --addr demo-lockstep.db.svc.cluster.local:6379 --tls --cacert": {"auth": off, "tls": map[string]any{"enabled": true, "existingSecret": "x"}},
	} {
		notes := must(t, "demo", values).notes
		if !strings.Contains(notes, words) || strings.Contains(notes, "--password") {
			t.Errorf("%q is not in the notes, or --password is:\n%s", words, notes)
		}
	}
	if notes := must(t, "demo", valueSets(t)["default"]).notes; strings.Contains(notes, "WARNING") {
		t.Errorf("the defaults are warned of:\n%s", notes)
	}
}

// TestMonitoringIsTheRepositorys: the chart carries copies.
func TestMonitoringIsTheRepositorys(t *testing.T) {
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		want, err := os.ReadFile(filepath.Join("../../monitoring", name))
		if err != nil {
			t.Skipf("SKIPPED: there is no deploy/monitoring to compare with: %v", err)
		}
		got, err := os.ReadFile(filepath.Join(chartDir, "files", name))
		if err != nil || string(got) != string(want) {
			t.Errorf("files/%s is not deploy/monitoring/%s: %v; copy it", name, name, err)
		}
	}
}
