// Package packages checks the systemd unit, the configuration of the Debian package, the compose
// file and the container image. It runs their commands as far as that is possible without systemd
// and without containers.
package packages

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	patience = 60 * time.Second
	deployed = "../../deploy/"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(deployed + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unit returns the settings of the unit file by their names. If a name is there twice, the last one
// counts.
func unit(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(read(t, "systemd/lockstep.service")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			all[name] = value
		}
	}
	return all
}

// here returns a command of the unit with the paths of this test: the program under test, the
// package's configuration, and a folder for the data.
func here(t *testing.T, line, conf, dir string) *exec.Cmd {
	t.Helper()
	places := strings.NewReplacer("/usr/bin/lockstepd", proc.Lockstepd(t), "/etc/lockstep/lockstep.conf", conf, "/var/lib/lockstep", dir)
	words := strings.Fields(places.Replace(line))
	if len(words) < 2 || words[0] != proc.Lockstepd(t) || !slices.Contains(words, conf) || !slices.Contains(words, dir) {
		t.Fatalf("the unit runs %q", line)
	}
	return exec.Command(words[0], words[1:]...)
}

// TestTheUnitRunsANode runs the commands of the unit with the configuration of the package. The
// check of the configuration succeeds, and the node serves. It takes the password from a file that
// only root can read, and ends in time and with code 0 when it is told to.
func TestTheUnitRunsANode(t *testing.T) {
	proc.NeedProcesses(t)
	u := unit(t)
	port, dir := proc.FreePort(t), t.TempDir()
	conf := filepath.Join(t.TempDir(), "lockstep.conf")
	text := read(t, "deb/lockstep.conf") + "port " + strconv.Itoa(port) + "\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := here(t, u["ExecStartPre"], conf, dir).CombinedOutput(); err != nil || !strings.Contains(string(out), "the configuration is good") {
		t.Fatalf("%v: %s", err, out)
	}
	if u["EnvironmentFile"] != "-/etc/lockstep/environment" {
		t.Errorf("passwords come from %q", u["EnvironmentFile"])
	}
	cmd := here(t, u["ExecStart"], conf, dir)
	told := supervise(t, filepath.Join(t.TempDir(), "notify"))
	cmd.Env = []string{"LOCKSTEP_REQUIREPASS=from-the-environment", "NOTIFY_SOCKET=" + told.name}
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	addr := "127.0.0.1:" + strconv.Itoa(port)
	proc.Wait(t, patience, "the node serves", func() bool {
		_, err := proc.Ask(addr, "AUTH", "from-the-environment")
		return err == nil
	})
	if _, err := proc.Ask(addr, "SET", "a", "1"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("nobody is asked for a password: %v", err)
	}
	told.awaits(t, "READY=1\nSTATUS=serving")
	if u["Type"] != "notify" || u["TimeoutStartSec"] != "infinity" {
		t.Errorf("systemd does not wait for the node to be ready: Type=%s, TimeoutStartSec=%s", u["Type"], u["TimeoutStartSec"])
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	told.awaits(t, "STOPPING=1\nSTATUS=stopping")
	err := cmd.Wait()
	limit, _ := strconv.Atoi(u["TimeoutStopSec"])
	if took := time.Since(began); err != nil || took > time.Duration(limit)*time.Second {
		t.Errorf("it ended after %v of %d s: %v\n%s", took, limit, err, log.String())
	}
}

// systemd is the socket on which systemd receives the state of a service.
type systemd struct {
	name string
	conn *net.UnixConn
}

func supervise(t *testing.T, name string) *systemd {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &systemd{name, conn}
}

// awaits reads messages until the given one comes.
func (s *systemd) awaits(t *testing.T, words string) {
	t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var heard []string
	for {
		b := make([]byte, 1<<10)
		n, err := s.conn.Read(b)
		if err != nil {
			t.Fatalf("systemd is not told %q (%v), but %q", words, err, heard)
		}
		if heard = append(heard, string(b[:n])); string(b[:n]) == words {
			return
		}
	}
}

// TestANewNodeDoesNotHoldUpItsStart: when nodes are started one after the other, the start of the
// first must not wait for the second. The socket is an abstract one here.
func TestANewNodeDoesNotHoldUpItsStart(t *testing.T) {
	proc.NeedProcesses(t)
	for _, how := range [][]string{{"--bootstrap-expect", "2"}, {}} {
		told := supervise(t, "@"+filepath.Join(t.TempDir(), "notify"))
		port, other := proc.FreePort(t), proc.FreePort(t)
		args := append([]string{"--port", strconv.Itoa(port), "--dir", t.TempDir(), "--supervised", "systemd",
			"--join", fmt.Sprintf("127.0.0.1:%d", other+ports.PeerDistance)}, how...)
		cmd := exec.Command(proc.Lockstepd(t), args...)
		cmd.Env = []string{"NOTIFY_SOCKET=" + told.name}
		if err := proc.StartMortal(cmd); err != nil {
			t.Fatal(err)
		}
		told.awaits(t, "READY=1\nSTATUS=looks for its cluster")
		if proc.Ping(fmt.Sprintf("127.0.0.1:%d", port)) {
			t.Error("it serves clients by itself")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// TestTheUnitIsGood: systemd-analyze finds no fault in the unit.
func TestTheUnitIsGood(t *testing.T) {
	analyze := proc.Tool(t, "systemd-analyze")
	// The program of the unit must exist. The packages install it in another folder.
	text := strings.ReplaceAll(read(t, "systemd/lockstep.service"), "/usr/bin/lockstepd", proc.Lockstepd(t))
	verify := func(text string) (string, error) {
		path := filepath.Join(t.TempDir(), "lockstep.service")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// The package has the manual page that the unit names, but this machine may not.
		out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
		return string(out), err
	}
	if out, err := verify(text); err != nil || strings.Contains(out, "lockstep.service") {
		t.Errorf("%v: %s", err, out)
	}
	// The program does find a fault.
	if out, err := verify(strings.Replace(text, "ProtectHome=yes", "ProtectHomes=yes", 1)); err == nil && !strings.Contains(out, "ProtectHomes") {
		t.Errorf("a word that systemd does not know: %s", out)
	}
}

// TestTheDocumentsCallTheUnitByItsName: the documents use the name of the unit, so that a reader's
// systemctl command works.
func TestTheDocumentsCallTheUnitByItsName(t *testing.T) {
	called := regexp.MustCompile(`systemctl (?:[a-z]+ )(?:--now )?([a-z-]+)`)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no documents", err)
	}
	found := 0
	for _, path := range append(pages, deployed+"systemd/lockstep.service", deployed+"deb/control") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range called.FindAllStringSubmatch(string(text), -1) {
			if found++; m[1] != "lockstep" {
				t.Errorf("%s: %q: the unit is called lockstep", path, m[0])
			}
		}
	}
	if found < 3 {
		t.Errorf("%d calls of systemctl were found", found)
	}
}

// imageVariables returns the variables that the Dockerfile sets.
func imageVariables(t *testing.T) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(read(t, "Dockerfile")) {
		if rest, ok := strings.CutPrefix(line, "ENV "); ok {
			for _, word := range strings.Fields(rest) {
				all = append(all, strings.ReplaceAll(word, `"`, ""))
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("the image sets nothing")
	}
	return all
}

// TestTheComposeFileIsTaken: a node of each service accepts its configuration from the variables of
// the image and of the service. The services differ only in their names.
func TestTheComposeFileIsTaken(t *testing.T) {
	proc.NeedProcesses(t)
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Volumes     []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) != 3 {
		t.Fatalf("%d services", len(file.Services))
	}
	check := func(env []string) string {
		cmd := exec.Command(proc.Lockstepd(t), "--check-config")
		cmd.Dir, cmd.Env = t.TempDir(), env
		out, err := cmd.CombinedOutput()
		if err != nil {
			return err.Error() + ": " + string(out)
		}
		return string(out)
	}
	for name, service := range file.Services {
		env := imageVariables(t)
		for variable, value := range service.Environment {
			env = append(env, variable+"="+strings.ReplaceAll(value, "${LOCKSTEP_REQUIREPASS:-}", "secret"))
		}
		if out := check(env); strings.TrimSpace(out) != "the configuration is good" {
			t.Errorf("%s: %s", name, out)
		}
		if _, there := file.Volumes[name]; !there || service.Environment["LOCKSTEP_NODE_NAME"] != name || !slices.Equal(service.Volumes, []string{name + ":/data"}) {
			t.Errorf("%s: %+v", name, service)
		}
		if !strings.Contains(service.Environment["LOCKSTEP_JOIN"], service.Environment["LOCKSTEP_PEER_ADDRESS"]) {
			t.Errorf("%s is not where the others look for it", name)
		}
	}
	// The check does find a fault.
	if out := check([]string{"LOCKSTEP_JOINN=n1:16379", "LOCKSTEP_PORT=many"}); strings.TrimSpace(out) == "the configuration is good" {
		t.Error("whatever the environment says is good")
	}
}
