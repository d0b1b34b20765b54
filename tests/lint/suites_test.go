package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheListOfSuitesIsComplete: tests/README.md has a row for each folder in tests and in
// tests/kit.
func TestTheListOfSuitesIsComplete(t *testing.T) {
	names, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(root(), "tests/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, suitesNotListed(names, string(text)))
}

// suitesNotListed compares the rows of the list with the folders of the named files.
func suitesNotListed(names []string, text string) (found []finding) {
	rows := map[string]bool{}
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			rows[strings.Trim(cells[1], " `")] = false
		}
	}
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) < 3 || parts[0] != "tests" || parts[1] == "tools" {
			continue
		}
		folder := parts[1]
		if folder == "kit" && len(parts) > 3 {
			folder = parts[2]
		}
		if seen, listed := rows[folder]; !listed {
			found = append(found, finding{"tests/README.md", folder, folder + " has no row in tests/README.md"})
			rows[folder] = true
		} else if !seen {
			rows[folder] = true
		}
	}
	for _, heading := range []string{"suite", "package", "---"} {
		delete(rows, heading)
	}
	for row, seen := range rows {
		if !seen {
			found = append(found, finding{"tests/README.md", row, row + " is listed in tests/README.md and does not exist"})
		}
	}
	return found
}

func TestSuiteRuleFindsPlantedOffences(t *testing.T) {
	const text = "| suite | what |\n|---|---|\n| `acl` | users |\n| `proc` | processes |\n"
	for _, c := range []struct {
		names []string
		found int
	}{
		{[]string{"tests/acl/a_test.go", "tests/kit/proc/a.go", "tests/tools/bench/a.go", "tests/README.md"}, 0},
		{[]string{"tests/acl/a_test.go", "tests/kit/proc/a.go", "tests/tls/a_test.go"}, 1},
		{[]string{"tests/acl/a_test.go", "tests/kit/proc/a.go", "tests/kit/ring/a.go"}, 1},
		{[]string{"tests/acl/a_test.go"}, 1},
	} {
		if found := suitesNotListed(c.names, text); len(found) != c.found {
			t.Errorf("%v: %v", c.names, found)
		}
	}
}
