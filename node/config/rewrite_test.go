package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func loadFile(t *testing.T, args ...string) *Config {
	t.Helper()
	c, _, err := Load(args, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRewriteChangesWhatWasChanged: comments, order and other lines stay, and the rewritten file
// gives the values that CONFIG GET showed.
func TestRewriteChangesWhatWasChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lockstep.conf")
	putFile(t, path, "# a node\nport 7001\n\n  # idle clients\ntimeout 5\nTIMEOUT 6\nsave 100 1\nsave 200 2\nhash-max-ziplist-entries 100\nmaxclients 50")
	c := loadFile(t, path, "--loglevel", "verbose")
	for _, p := range []Pair{
		{"timeout", "7"}, {"requirepass", `a "b\ #é`}, {"save", "300 3 400 4"}, {"slowlog-max-len", "9"}, {"hash-max-listpack-entries", "200"},
		{"client-output-buffer-limit", "pubsub 1mb 1mb 1"}, {"notify-keyspace-events", ""},
	} {
		if err := c.Set([]Pair{p}); err != nil {
			t.Fatal(p, err)
		}
	}
	if err := c.Rewrite(); err != nil {
		t.Fatal(err)
	}
	text := readText(t, path)
	wantHead := "# a node\nport 7001\n\n  # idle clients\ntimeout 7\nsave 300 3 400 4\nhash-max-listpack-entries 200\nmaxclients 50\n\n" + generated + "\n"
	if !strings.HasPrefix(text, wantHead) || strings.Contains(text, "loglevel") || strings.Contains(text, "notify-keyspace-events") {
		t.Errorf("the file is\n%s", text)
	}
	again := loadFile(t, path)
	for _, d := range table {
		name := d.Name
		if d.Has(fileOnly) || name == "loglevel" {
			continue
		}
		if was, is := c.Get(name), again.Get(name); was[0] != is[0] {
			t.Errorf("%s is %q after a restart, not %q", name, is[0].Value, was[0].Value)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's rights are %v", info.Mode())
	}
	if err := c.Set([]Pair{{"slowlog-max-len", "10"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(); err != nil {
		t.Fatal(err)
	}
	if next := readText(t, path); strings.ReplaceAll(next, "slowlog-max-len 10", "slowlog-max-len 9") != text || next == text {
		t.Errorf("a second rewrite made\n%s", next)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestRewriteThatChangesNothingLeavesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	const text = "timeout 5 \r\n# no newline at the end"
	putFile(t, path, text)
	c := loadFile(t, path)
	if err := c.Set([]Pair{{"timeout", "5"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, path); got != text {
		t.Errorf("%q", got)
	}
}

// An included file overrides the lines above the include.
func TestRewriteOverridesIncludes(t *testing.T) {
	dir := t.TempDir()
	path, included := filepath.Join(dir, "c"), filepath.Join(dir, "more")
	putFile(t, included, "timeout 8\n")
	putFile(t, path, "timeout 5\ninclude "+included+"\n")
	c := loadFile(t, path)
	if err := c.Set([]Pair{{"timeout", "9"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(); err != nil {
		t.Fatal(err)
	}
	if got := loadFile(t, path).Current().TimeoutSeconds; got != 9 || readText(t, included) != "timeout 8\n" {
		t.Errorf("timeout is %d after a restart:\n%s", got, readText(t, path))
	}
}

func TestRewriteFollowsALinkAndSaysWhatFails(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	putFile(t, real, "timeout 5\n")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	c := loadFile(t, link)
	if err := c.Set([]Pair{{"timeout", "6"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(); err != nil || readText(t, real) != "timeout 6\n" {
		t.Errorf("%v %q", err, readText(t, real))
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is a file now")
	}
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(); err == nil || err.Error() != "ERR Rewriting config file: no such file or directory" {
		t.Errorf("without the file: %v", err)
	}
	if err := Default().Rewrite(); !errors.Is(err, errNoFile) {
		t.Errorf("started without one: %v", err)
	}
}

// Every word is read back unchanged.
func TestQuotedWordsAreReadBack(t *testing.T) {
	for i := range 256 {
		for _, w := range []string{string([]byte{byte(i)}), "a" + string([]byte{byte(i)}) + "b", string([]byte{byte(i), byte(i)}), ""} {
			words, err := splitLine("x " + quoteWord(w))
			if err != nil || len(words) != 2 || words[1] != w {
				t.Fatalf("%q became %q: %v", w, words, err)
			}
		}
	}
}

// A setting of the cluster's log may contradict one of this node. A file with both would keep the
// node from starting.
func TestRewriteMakesNoFileThatNoNodeStartsWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lockstep.conf")
	putFile(t, path, "timeout 5\n")
	c := loadFile(t, path)
	c.ApplyReplicated([]Pair{{"proto-max-bulk-len", "200mb"}})
	if err := c.Rewrite(); err == nil || !strings.Contains(err.Error(), "client-query-buffer-limit") {
		t.Errorf("the rewrite says %v", err)
	}
	if text := readText(t, path); text != "timeout 5\n" {
		t.Errorf("the file is %q", text)
	}
	if err := c.Set([]Pair{{"client-query-buffer-limit", "300mb"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(); err != nil {
		t.Fatal(err)
	}
	loadFile(t, path)
}

// The words of a list may have quotes in them.
func TestRewriteQuotesTheWordsOfLists(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lockstep.conf")
	putFile(t, path, "timeout 5\n")
	c := loadFile(t, path)
	if err := c.Set([]Pair{{"ignore-warnings", `a " '#b \`}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Rewrite(); err != nil {
		t.Fatal(err)
	}
	if was, is := c.Get("ignore-warnings"), loadFile(t, path).Get("ignore-warnings"); was[0] != is[0] {
		t.Errorf("%q after a restart, not %q", is[0].Value, was[0].Value)
	}
}
