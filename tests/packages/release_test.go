package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/node/process"
	"lockstep/tests/kit/proc"
)

// release runs deploy/release for one architecture and returns the folder. It uses stand-ins for
// the programs, because these take minutes to build and to pack.
func release(t *testing.T) string {
	t.Helper()
	programs, into := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(programs, "arm64"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lockstepd", "clusterctl"} {
		if err := os.WriteFile(filepath.Join(programs, "arm64", name), []byte("a program\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(deployed+"release", into)
	cmd.Env = append(os.Environ(), "ARCHS=arm64", "PROGRAMS="+programs, "SOURCE_DATE_EPOCH=1000000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return into
}

// output returns the lines that a program prints.
func output(t *testing.T, name string, args ...string) []string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestARelease: the files of a release are there, have the right contents and the right checksums,
// and are the same bytes when they are made again.
func TestARelease(t *testing.T) {
	proc.Tool(t, "dpkg-deb")
	if exec.Command("git", "rev-parse").Run() != nil {
		proc.Skip(t, "a release is made of what git knows, and this is no checkout")
	}
	dir := release(t)
	v := process.Version
	archive, deb, image := "lockstep_"+v+"_linux_arm64.tar.gz", "lockstep_"+v+"_arm64.deb", "lockstep_"+v+"_image.tar.gz"
	sums := sumsOf(t, dir)
	if len(sums) != 3 || sums[archive] == "" || sums[deb] == "" || sums[image] == "" {
		t.Fatalf("the release holds %v", sums)
	}
	for name, sum := range sumsOf(t, release(t)) {
		if sums[name] != sum {
			t.Errorf("%s is made of other bytes each time", name)
		}
	}

	has(t, archive, output(t, "tar", "-tzf", filepath.Join(dir, archive)), "lockstep_"+v+"_linux_arm64/",
		"lockstepd", "clusterctl", "LICENSE", "README.md", "CHANGELOG.md", "lockstep.service", "lockstep.conf", "docs/THIRD_PARTY.md", "docs/operations.md")
	contents := output(t, "dpkg-deb", "-c", filepath.Join(dir, deb))
	for i, line := range contents {
		contents[i] = line[strings.LastIndexByte(line, ' ')+1:]
	}
	has(t, deb, contents, "./", "usr/bin/lockstepd", "usr/bin/clusterctl", "lib/systemd/system/lockstep.service", "etc/lockstep/lockstep.conf",
		"usr/share/doc/lockstep/copyright", "usr/share/doc/lockstep/THIRD_PARTY.md", "usr/share/doc/lockstep/operations.md")
	fields := output(t, "dpkg-deb", "-f", filepath.Join(dir, deb), "Version", "Architecture")
	if !slices.Equal(fields, []string{"Version: " + v, "Architecture: arm64"}) {
		t.Errorf("the package says %q", fields)
	}
	sources := output(t, "tar", "-tzf", filepath.Join(dir, image))
	has(t, image, sources, "", append(copied(t), "go.mod", "go.sum", "cmd/lockstepd/main.go", "node/process/version.go", "deploy/Dockerfile")...)
	for _, name := range sources {
		if strings.HasPrefix(name, "tests/") || strings.HasPrefix(name, "dist/") {
			t.Errorf("%s has %s, which the image does not need", image, name)
			break
		}
	}
}

// has reports the wanted names that an archive lacks.
func has(t *testing.T, archive string, names []string, prefix string, want ...string) {
	t.Helper()
	for _, name := range want {
		if !slices.Contains(names, prefix+name) {
			t.Errorf("%s has no %s", archive, prefix+name)
		}
	}
}

// copied returns the files that the Dockerfile puts into the image beside the programs.
func copied(t *testing.T) []string {
	t.Helper()
	line := regexp.MustCompile(`&& cp (.*) /out/`).FindStringSubmatch(read(t, "Dockerfile"))
	if line == nil {
		t.Fatal("the Dockerfile copies nothing")
	}
	return strings.Fields(line[1])
}

// sumsOf returns the checksums of SHA256SUMS by file, and compares each one with the file.
func sumsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has not the sum that is written", name)
		}
		all[name] = sum
	}
	return all
}
