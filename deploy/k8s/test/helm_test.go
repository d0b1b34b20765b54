package chart

import (
	"testing"

	loader3 "helm.sh/helm/v3/pkg/chart/loader"
	chartutil3 "helm.sh/helm/v3/pkg/chartutil"
	engine3 "helm.sh/helm/v3/pkg/engine"
	lint3 "helm.sh/helm/v3/pkg/lint"
	support3 "helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v4/pkg/chart/common"
	util4 "helm.sh/helm/v4/pkg/chart/common/util"
	lint4 "helm.sh/helm/v4/pkg/chart/v2/lint"
	support4 "helm.sh/helm/v4/pkg/chart/v2/lint/support"
	loader4 "helm.sh/helm/v4/pkg/chart/v2/loader"
	engine4 "helm.sh/helm/v4/pkg/engine"
)

// TestHelmLintsStrictly: what helm lint --strict would refuse, of both versions
// of Helm: errors and warnings.
func TestHelmLintsStrictly(t *testing.T) {
	for name, values := range valueSets(t) {
		for _, m := range lint3.AllWithKubeVersion(chartDir, values, "db", nil).Messages {
			if m.Severity >= support3.WarningSev {
				t.Errorf("Helm 3 of %s: %s", name, m)
			}
		}
		for _, m := range lint4.RunAll(chartDir, values, "db").Messages {
			if m.Severity >= support4.WarningSev {
				t.Errorf("Helm 4 of %s: %s", name, m)
			}
		}
	}
	// The lints can fail.
	wrong := map[string]any{"replicaCount": "three"}
	if lint3.AllWithKubeVersion(chartDir, wrong, "db", nil).HighestSeverity < support3.ErrorSev ||
		lint4.RunAll(chartDir, wrong, "db").HighestSeverity < support4.ErrorSev {
		t.Error("a value of the wrong type is let through")
	}
}

// TestHelm4RendersWhatHelm3Does: file by file, byte by byte.
func TestHelm4RendersWhatHelm3Does(t *testing.T) {
	for name, values := range valueSets(t) {
		three, four := renderedByHelm3(t, values), renderedByHelm4(t, values)
		if len(three) != len(four) {
			t.Errorf("%s: %d files and %d", name, len(three), len(four))
		}
		for file, text := range three {
			if undrawn(four[file]) != undrawn(text) {
				t.Errorf("%s: Helm 4 renders another %s", name, file)
			}
		}
	}
}

func renderedByHelm3(t *testing.T, values map[string]any) map[string]string {
	t.Helper()
	c, err := loader3.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	full, err := chartutil3.ToRenderValues(c, values, chartutil3.ReleaseOptions{Name: "demo", Namespace: "db", Revision: 2, IsUpgrade: true}, chartutil3.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine3.Render(c, full)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func renderedByHelm4(t *testing.T, values map[string]any) map[string]string {
	t.Helper()
	c, err := loader4.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	full, err := util4.ToRenderValues(c, values, common.ReleaseOptions{Name: "demo", Namespace: "db", Revision: 2, IsUpgrade: true}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine4.Render(c, full)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
