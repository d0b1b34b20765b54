package acl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	u := usersOf(t, "pw", "user ann on >secret ~a* %R~b* &c* +@read -get (+set ~x*)", "user bob off", "# a comment", "", "  ", "user \xff on ~\xfe")
	if err := os.WriteFile(path, []byte("user was there before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := u.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	records, err := ReadFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	back := NewUsers(records, "", nil)
	if !slices.Equal(names(back), names(u)) {
		t.Fatalf("%q, want %q", names(back), names(u))
	}
	for _, a := range u.All() {
		if got := back.Get(a.Name); got.Line() != a.Line() {
			t.Errorf("%q, want %q", got.Line(), a.Line())
		}
	}
	data, _ := os.ReadFile(path)
	if strings.Contains(string(data), "secret") {
		t.Error("the file has a password in it")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestAFileThatIsWrongIsRefusedWhole: the error names the line, and leaves out text that may be a
// password.
func TestAFileThatIsWrongIsRefusedWhole(t *testing.T) {
	for text, want := range map[string]string{
		"user ann on\nann on":                 ":2: line should start with user keyword",
		"user":                                ":1: line should start with user keyword",
		"\n\nuser ann on\nuser ann off":       ":4: user 'ann' stands there twice",
		"user ann on >secret #secret":         ":1: ",
		"user ann on +nosuch":                 ":1: ",
		"user ann on (+get":                   ":1: Unmatched parenthesis",
		strings.Repeat("#", FileBytesMax+1):   "is longer than",
		"user a on\r\nuser b on\r\nuser a on": ":3: user 'a' stands there twice",
	} {
		path := filepath.Join(t.TempDir(), "users.acl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		records, err := ReadFile(path, Options{})
		if err == nil || records != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none"), Options{}); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := ReadFile("/dev/zero", Options{}); err == nil || !strings.Contains(err.Error(), "is longer than") {
		t.Errorf("a file without an end: %v", err)
	}
	if err := usersOf(t, "").WriteFile(filepath.Join(t.TempDir(), "none", "users.acl")); err == nil {
		t.Error("written into a folder that is not there")
	}
}

// TestNoRuleSmugglesALine: users are written to a file one per line.
func TestNoRuleSmugglesALine(t *testing.T) {
	u := usersOf(t, "")
	const evil = "a\nuser evil on nopass ~* +@all"
	for _, rule := range []string{"~", "%R~", "%RW~", "&", "+get|", "+", "-", "+@", "#", "<", "!", "(~", "(+get|"} {
		end := ""
		if rule[0] == '(' {
			end = ")"
		}
		if r, err := u.WithRules("ann", []string{rule + evil + end}, Options{}); err == nil && strings.Contains(r.Rules, "\n") {
			t.Errorf("%s: %q", rule, r.Rules)
		}
	}
	// A password may contain anything: only its hash is kept.
	if r, err := u.WithRules("ann", []string{">" + evil}, Options{}); err != nil || strings.Contains(r.Rules, "evil") {
		t.Errorf("%q, %v", r.Rules, err)
	}
}
