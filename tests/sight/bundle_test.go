package sight

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// unpacked returns the files of a bundle by name.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(zip); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[head.Name] = string(text)
	}
}

// TestBundleHasAllButSecrets: the bundle has the data of every node that answers, and no secrets,
// keys or values.
func TestBundleHasAllButSecrets(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	_, nodes := three(t)
	const secret, key, value = "open-Sesame-7391", "private-key-5518", "private-value-8824"
	for _, n := range nodes {
		proc.MustAsk(t, n.Addr(), "CONFIG", "SET", "slowlog-log-slower-than", "0", "masterauth", "another-"+secret)
		proc.MustAsk(t, n.Addr(), "SET", key, value)
	}
	proc.MustAsk(t, nodes[0].Addr(), "ACL", "SETUSER", "alice", "on", ">"+secret+"-too", "+@all", "~*")
	proc.MustAsk(t, nodes[0].Addr(), "CONFIG", "SET", "requirepass", secret)
	hash := func(password string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(password))) }
	conn := proc.Dial(t, nodes[0].Addr())
	for _, args := range [][]string{{"AUTH", "default", secret + "x"}, {"AUTH", secret}, {"GET", key}, {"NOSUCH", secret}} {
		if _, err := conn.Do(args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		proc.Wait(t, patience, n.Name+" wants the password", func() bool {
			_, err := proc.Ask(n.Addr(), "PING")
			return err != nil && strings.Contains(err.Error(), "NOAUTH")
		})
	}
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	flags := []string{"--password", secret, "support-bundle", path}
	if text, code := proc.Ctl(t, nodes[0].Addr(), flags...); code != 0 {
		t.Fatalf("exit code %d: %s", code, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is %v, %v", info, err)
	}
	files := unpacked(t, path)
	for name, part := range map[string]string{
		"about.txt": "clusterctl", "status.json": `"nodes"`, "placement.json": `"balanced"`, "machines.json": `"disk_free_bytes"`,
		"nodes/n1/info.txt": "raft_role:", "nodes/n1/config.txt": "\nrequirepass \"(hidden)\"", "nodes/n3/metrics.txt": "lockstep_build_info{",
		"nodes/n2/log.txt": "ready for clients", "nodes/n3/goroutines.txt": "goroutine profile: total",
	} {
		if !strings.Contains(files["lockstep/"+name], part) {
			t.Errorf("%s has no %q: %.300s", name, part, files["lockstep/"+name])
		}
	}
	if _, there := files["lockstep/missing.txt"]; there || len(files) != 4+3*5 {
		t.Errorf("there are %d files, and missing: %s", len(files), files["lockstep/missing.txt"])
	}
	for name, text := range files {
		for _, word := range []string{secret, key, value, hash(secret), hash(secret + "-too")} {
			if at := strings.Index(text, word); at >= 0 {
				t.Errorf("%s has %q: %.200s", name, word, text[max(0, at-100):])
			}
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, code := proc.Ctl(t, nodes[0].Addr(), flags...); code == 0 || !strings.Contains(text, "is not overwritten") {
		t.Errorf("the second time: exit code %d: %s", code, text)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Error("the file was overwritten")
	}
	gone := nodes[2]
	gone.Kill9()
	path = filepath.Join(t.TempDir(), "less.tar.gz")
	if text, code := proc.Ctl(t, nodes[0].Addr(), "--password", secret, "support-bundle", path); code != 0 {
		t.Fatalf("without a node: exit code %d: %s", code, text)
	}
	if missing := unpacked(t, path)["lockstep/missing.txt"]; !strings.HasPrefix(missing, gone.Name+": ") {
		t.Errorf("missing is %q", missing)
	}
}
