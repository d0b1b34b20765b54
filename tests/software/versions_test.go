package software

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestTestedVersionsAreRecorded: tests/versions.txt has the tested version of every package that
// .ci/run installs.
func TestTestedVersionsAreRecorded(t *testing.T) {
	recorded := map[string]string{}
	text, err := os.ReadFile("../versions.txt")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			recorded[name] = version
		}
	}
	script, err := os.ReadFile("../../.ci/run")
	must(t, err)
	joined := strings.ReplaceAll(string(script), "\\\n", " ")
	found := 0
	for _, m := range regexp.MustCompile(`(?m)--no-install-recommends ([a-z0-9 -]+)`).FindAllStringSubmatch(joined, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			found++
			if !regexp.MustCompile(`^(\d+:)?\d[\w.+~-]*$`).MatchString(recorded[name]) {
				t.Errorf("%s is installed by .ci/run, and tests/versions.txt says of its version %q", name, recorded[name])
			}
		}
	}
	if found < 10 {
		t.Errorf(".ci/run installs %d packages only", found)
	}
}

// TestOtherVersionsAreTold: make versions reports every package whose version is not the tested
// one.
func TestOtherVersionsAreTold(t *testing.T) {
	for _, tool := range []string{"make", "dpkg-query"} {
		if _, err := exec.LookPath(tool); err != nil {
			proc.Skip(t, "it needs "+tool)
		}
	}
	here, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", "dpkg").Output()
	must(t, err)
	told := func(lines string) string {
		t.Helper()
		path := t.TempDir() + "/versions"
		must(t, os.WriteFile(path, []byte(lines), 0o600))
		cmd := exec.Command("make", "-s", "--no-print-directory", "versions", "VERSIONS="+path)
		cmd.Dir = "../.."
		// A make that runs this test must not pass its own flags on.
		cmd.Env = append(os.Environ(), "MAKEFLAGS=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.ReplaceAll(strings.TrimSpace(string(out)), path, "tests/versions.txt")
	}
	if got := told("# dpkg 0.1\ndpkg " + string(here) + "\nno-such-package 1.0\n"); got != "" {
		t.Errorf("nothing has changed, and it says %q", got)
	}
	if got, want := told("dpkg 0.1-2\n"), "CHANGED: dpkg is "+string(here)+" here; the tests were last passed with 0.1-2 (tests/versions.txt)"; got != want {
		t.Errorf("it says %q, not %q", got, want)
	}
}
