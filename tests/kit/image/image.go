// Package image makes the contents of a container image, and root folders of containers from it,
// for tests that run pods as processes.
package image

import (
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"lockstep/tests/kit/proc"
)

// New makes a folder with the contents of the image. The programs are where the Dockerfile puts
// them.
func New(t testing.TB) string {
	t.Helper()
	image, err := os.MkdirTemp("", "lockstep-test-image-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(image) })
	for name, path := range map[string]string{"lockstepd": proc.Lockstepd(t), "clusterctl": proc.Clusterctl(t)} {
		place(t, path, filepath.Join(image, "usr/bin", name))
		for _, library := range libraries(t, path) {
			place(t, library, filepath.Join(image, library))
		}
	}
	return image
}

// CopyLinked makes a folder of hard links to the same files.
func CopyLinked(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		return os.Link(path, filepath.Join(to, name))
	})
}

// place copies a file of this machine into a root, unless the root has it already.
func place(t testing.TB, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return
	}
	must(t, err)
	defer out.Close()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	_, err = io.Copy(out, in)
	must(t, err)
}

// library matches a file in the output of ldd.
var library = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// libraries are the libraries that a program is linked with at run time. In the image the programs
// are static and have none; on this machine they may be built dynamically.
func libraries(t testing.TB, program string) []string {
	t.Helper()
	f, err := elf.Open(program)
	must(t, err)
	defer f.Close()
	if linked, err := f.ImportedLibraries(); err == nil && len(linked) == 0 {
		return nil
	}
	out, err := exec.Command(proc.Tool(t, "ldd"), program).Output()
	must(t, err)
	var files []string
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		files = append(files, m[1])
	}
	return files
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
