package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shownPage lists for each promise the command that shows it.
const shownPage = "docs/shown.md"

// TestWhatIsShownCanBeRun: each command of the page names targets, packages, tests and scenarios
// that exist.
func TestWhatIsShownCanBeRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(), shownPage))
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root(), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, wrongCommands(string(page), theRunnable(goSources(t), string(makefile))))
}

// TestTargetsOfTheMakefileExist: every target in .PHONY has a recipe. Without this test a target
// that a merge has lost would not be noticed, because make then does nothing and reports no error.
func TestTargetsOfTheMakefileExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root(), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, lostTargets(string(makefile)))
}

func lostTargets(makefile string) (found []finding) {
	targets := theRunnable(nil, makefile).targets
	for _, line := range strings.Split(makefile, "\n") {
		names, ok := strings.CutPrefix(line, ".PHONY:")
		if !ok {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			if !targets[name] {
				found = append(found, finding{"Makefile", "Makefile:" + name, "there is no recipe for " + name})
			}
		}
	}
	return found
}

// runnable holds the names that commands may use.
type runnable struct {
	targets   map[string]bool
	tests     map[string][]string // by package folder
	programs  map[string]bool     // folders of package main
	scenarios []string
}

var (
	targetLine   = regexp.MustCompile(`(?m)^([a-z-]+):`)
	scenarioLine = regexp.MustCompile(`(?m)^\t\{"([a-z-]+)", [a-zA-Z]+\},$`)
)

func theRunnable(all []*source, makefile string) *runnable {
	r := &runnable{targets: map[string]bool{}, tests: map[string][]string{}, programs: map[string]bool{}}
	for _, m := range targetLine.FindAllStringSubmatch(makefile, -1) {
		r.targets[m[1]] = true
	}
	for _, s := range all {
		if s.path == "tests/tools/bench/scenarios.go" {
			for _, m := range scenarioLine.FindAllStringSubmatch(s.text, -1) {
				r.scenarios = append(r.scenarios, m[1])
			}
		}
		if s.file.Name.Name == "main" {
			r.programs[s.dir()] = true
		}
		if s.isTest() {
			r.tests[s.dir()] = append(r.tests[s.dir()], testsOf(s)...)
		}
	}
	return r
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

func testsOf(s *source) (names []string) {
	for _, m := range testFunc.FindAllStringSubmatch(s.text, -1) {
		if m[1] != "TestMain" {
			names = append(names, m[1])
		}
	}
	return names
}

// wrongCommands checks the indented lines of a page. The text after " #" is a remark for readers.
func wrongCommands(page string, r *runnable) (found []finding) {
	commands := 0
	for i, line := range strings.Split(page, "\n") {
		text, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		commands++
		command, _, _ := strings.Cut(text, " #")
		if why := r.wrong(words(command)); why != "" {
			where := fmt.Sprintf("%s:%d", shownPage, i+1)
			found = append(found, finding{where, where, why + ": " + strings.TrimSpace(command)})
		}
	}
	if commands == 0 {
		found = append(found, finding{shownPage, shownPage, "the page has no commands"})
	}
	return found
}

// words splits a command as a shell does, as far as the page needs that: at blanks, except inside
// single quotes.
func words(command string) (out []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// variable matches a word that sets an environment variable for a command.
var variable = regexp.MustCompile(`^[A-Z_]+=`)

// wrong returns the reason why a command cannot be run, or "" if it can.
func (r *runnable) wrong(command []string) string {
	for len(command) > 0 && variable.MatchString(command[0]) {
		command = command[1:]
	}
	switch {
	case len(command) == 2 && command[0] == "make":
		if !r.targets[command[1]] {
			return "the Makefile has no such target"
		}
		return ""
	case len(command) > 2 && command[0] == "go" && command[1] == "test":
		return r.wrongTest(command[2:])
	case len(command) > 2 && command[0] == "go" && command[1] == "run":
		return r.wrongRun(command[2:])
	}
	return "this is neither make, go test nor go run"
}

func (r *runnable) wrongTest(args []string) string {
	pattern := ""
	var folders []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-run" && i+1 < len(args):
			i++
			pattern = args[i]
		case args[i] == "-timeout":
			i++
		case strings.HasPrefix(args[i], "./"):
			folders = append(folders, path.Clean(args[i]))
		case !strings.HasPrefix(args[i], "-"):
			return fmt.Sprintf("%q is no package", args[i])
		}
	}
	if len(folders) == 0 {
		return "no package is named"
	}
	for _, folder := range folders {
		if len(r.tests[folder]) == 0 {
			return folder + " has no tests"
		}
		if why := matchesNothing(pattern, r.tests[folder]); why != "" {
			return folder + ": " + why
		}
	}
	return ""
}

func (r *runnable) wrongRun(args []string) string {
	folder := path.Clean(args[0])
	if !r.programs[folder] {
		return folder + " is no program"
	}
	for i, arg := range args[1:] {
		if arg == "-scenario" && i+2 < len(args) {
			return matchesNothing(args[i+2], r.scenarios)
		}
	}
	return ""
}

// matchesNothing checks each alternative of a pattern separately, because the others would hide one
// that matches nothing.
func matchesNothing(pattern string, names []string) string {
	for alternative := range strings.SplitSeq(pattern, "|") {
		expr, err := regexp.Compile(alternative)
		if err != nil {
			return err.Error()
		}
		matches := false
		for _, name := range names {
			matches = matches || expr.MatchString(name)
		}
		if !matches {
			return fmt.Sprintf("nothing is called %q", alternative)
		}
	}
	return ""
}

func TestShownRuleFindsPlantedOffences(t *testing.T) {
	r := theRunnable([]*source{
		planted(t, "a/a_test.go", "package a\nfunc TestMain(m *testing.M) {}\nfunc TestOne(t *testing.T) {}\nfunc TestTwo(t *testing.T) {}"),
		planted(t, "tests/tools/bench/scenarios.go", "package main\nvar scenarios = []scenario{\n\t{\"one-node\", oneNode},\n}"),
	}, "all: one\none: ## first\n\ttrue\n")
	right := []string{
		"make one      # a minute", "A_B=1 go test -timeout 5m ./a", "go test ./a", "go test -v -run 'TestOne|Two$' ./a  # 3 s",
		"go run ./tests/tools/bench -quick -scenario 'one'", "go run ./tests/tools/bench",
	}
	wrong := []string{
		"make two", "go test ./b", "go test -run TestThree ./a", "go test -run 'TestOne|TestThree' ./a", "go test -run TestMain ./a",
		"go test -run TestOne", "go run ./a", "go run ./tests/tools/bench -scenario two", "rm -rf x", "go test -run '(' ./a", "go test a",
	}
	for _, command := range right {
		if found := wrongCommands("words\n\n    "+command+"\n", r); len(found) != 0 {
			t.Errorf("%s: %v", command, found)
		}
	}
	for _, command := range wrong {
		if found := wrongCommands("    "+command, r); len(found) != 1 {
			t.Errorf("%s: found %v", command, found)
		}
	}
	if found := lostTargets(".PHONY: one two\n\none: ## first\n\ttrue\n"); len(found) != 1 || found[0].subject != "Makefile:two" {
		t.Errorf("lost targets: %v", found)
	}
	if len(wrongCommands("no command\n", r)) != 1 {
		t.Error("a page without commands passes")
	}
}
