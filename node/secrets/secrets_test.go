package secrets

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/secret"
	"lockstep/node/config"
)

// loaded is a configuration that was loaded from flags.
func loaded(t *testing.T, args ...string) *config.Config {
	t.Helper()
	c, _, err := config.Load(args, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	secretA = "the-first-secret-of-these-tests"
	secretB = "the-second-secret-of-these-tests"
)

// opened are the secrets of a node with this folder.
func opened(t *testing.T, dir string, args ...string) *Secrets {
	t.Helper()
	sc, err := Open(Facts{
		Config: loaded(t, append([]string{"--dir", dir}, args...)...), Log: slog.New(slog.DiscardHandler), Ctx: t.Context(),
		Go: func(do func()) bool { go do(); return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// TestWhereASecretIsFrom: of several secrets, the one counts that the operator has set most
// directly.
func TestWhereASecretIsFrom(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "given")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "# a comment\n\n"+secretB+" "+secretA+"\n")
	for _, row := range []struct {
		name   string
		args   []string
		folder string
		from   origin
		known  int
		err    string
	}{
		{name: "none", from: fromNowhere},
		{name: "a password", args: []string{"--requirepass", "sesame"}, from: fromPassword, known: 1},
		{name: "the folder", folder: secretA, from: fromFolder, known: 1},
		{name: "the folder before a password", folder: secretA, args: []string{"--requirepass", "sesame"}, from: fromFolder, known: 1},
		{name: "a setting before the folder", folder: secretA, args: []string{"--cluster-secret", secretB, secretA}, from: fromSetting, known: 2},
		{name: "a file before the folder", folder: secretA, args: []string{"--cluster-secret-file", file}, from: fromFile, known: 2},
		{name: "a file that is not there", folder: secretA, args: []string{"--cluster-secret-file", file + "x"}, err: "no such file"},
		{name: "an empty folder's file", folder: "# nothing\n", err: "there is no secret in it"},
		{name: "a damaged one", folder: "short", err: "16 to 256 characters"},
		{name: "all may come, and nothing is set", args: []string{"--bind", "*"}, err: "other machines can reach"},
		{name: "an address of this machine's", args: []string{"--bind", "127.0.0.1 192.0.2.1"}, err: "other machines can reach"},
		{name: "all may come, and the folder has one", folder: secretA, args: []string{"--bind", "*"}, from: fromFolder, known: 1},
		{name: "it was told to let all come", args: []string{"--bind", "*", "--protected-mode", "no"}, from: fromNowhere},
	} {
		home := t.TempDir()
		if row.folder != "" {
			write(filepath.Join(home, identity.SecretFile), row.folder)
		}
		args := append([]string{"--dir", home}, row.args...)
		list, from, err := find(loaded(t, args...).Current())
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) || strings.Contains(err.Error(), secretA) {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		if from == fromPassword {
			list = opened(t, home, row.args...).Known()
		}
		if err != nil || from != row.from || len(list) != row.known {
			t.Errorf("%s: %d from %q, %v", row.name, len(list), from, err)
		}
	}
}

// TestAMachineIsReachedByWhatItListensTo checks which addresses in bind other machines can reach.
func TestAMachineIsReachedByWhatItListensTo(t *testing.T) {
	for bind, want := range map[string]bool{
		"127.0.0.1 -::1": false, "localhost": false, "127.8.8.8": false, "*": true, "::*": true, "0.0.0.0": true, "-10.0.0.1": true, "127.0.0.1 10.0.0.1": true, "node.example": true,
	} {
		if got := reachable(loaded(t, "--bind", bind).Current()); got != want {
			t.Errorf("%s: %v", bind, got)
		}
	}
}

// TestHowFarARotationHasCome: the step follows from the secrets that all nodes accept.
func TestHowFarARotationHasCome(t *testing.T) {
	in := func(prints ...string) response { return response{Source: fromFolder, Prints: prints} }
	for _, row := range []struct {
		name string
		own  response
		told []response
		step rotationStep
		err  string
	}{
		{name: "nothing was begun", own: in("a"), told: []response{in("a"), in("a")}, step: rotateBegin},
		{name: "alone", own: in("a"), step: rotateBegin},
		{name: "begun here", own: in("b", "a"), told: []response{in("a"), in("b", "a")}, step: rotateSpread},
		{name: "all have both", own: in("b", "a"), told: []response{in("b", "a"), in("b", "a")}, step: rotateSpread},
		{name: "one is done, and this node is not", own: in("b", "a"), told: []response{in("b"), in("b", "a")}, step: rotateSpread},
		{name: "this node is done, and one is not", own: in("b"), told: []response{in("b"), in("b", "a")}, step: rotateFinish},
		{name: "begun elsewhere", own: in("a"), told: []response{in("a"), in("b", "a")}, err: "was begun at another node"},
		{name: "begun twice", own: in("c", "a"), told: []response{in("b", "a")}, err: "was begun at another node"},
		{name: "another secret", own: in("a"), told: []response{in("b")}, err: "accepts another secret"},
		{name: "a node was told", own: in("a"), told: []response{{Source: fromSetting, Prints: []string{"a"}}}, err: "has its secret from cluster-secret"},
		{name: "this node was told", own: response{Source: fromFile, Prints: []string{"a"}}, err: "this node has its secret from cluster-secret-file"},
	} {
		var told []memberSecrets
		for _, a := range row.told {
			told = append(told, memberSecrets{meta.Node{Name: "n2"}, a})
		}
		step, err := planRotation(row.own, told)
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%s: %v", row.name, err)
			}
		} else if err != nil || step != row.step {
			t.Errorf("%s: step %d, %v", row.name, step, err)
		}
	}
}

// TestSecretsAreReplacedOnlyAsAllExpect: two simultaneous changes would separate the nodes.
func TestSecretsAreReplacedOnlyAsAllExpect(t *testing.T) {
	dir := t.TempDir()
	was, err := secret.Parse(secretA)
	if err != nil {
		t.Fatal(err)
	}
	if err := secret.WriteFile(filepath.Join(dir, identity.SecretFile), was); err != nil {
		t.Fatal(err)
	}
	sc := opened(t, dir)
	for _, row := range []struct{ name, was, to, err string }{
		{"not what it was", "other", secretB + " " + secretA, "other secrets meanwhile"},
		{"nothing in common", was[0].Print(), secretB, "none of the secrets is in force"},
		{"no secret", was[0].Print(), "short", "16 to 256"},
		{"the next beside it", was[0].Print(), secretB + " " + secretA, ""},
	} {
		err := sc.replace([]string{row.was}, row.to)
		if row.err == "" && err != nil || row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	kept, err := secret.ReadFile(filepath.Join(dir, identity.SecretFile))
	if err != nil || len(kept) != 2 || !kept.Equal(sc.Known()) {
		t.Errorf("kept are %d, %v", len(kept), err)
	}
}
