package script

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMarkersAreFoundAtOnce: a script full of texts that look like markers is read once. It used to
// be searched for each of them, which took more than a minute for a megabyte, on every replica.
func TestMarkersAreFoundAtOnce(t *testing.T) {
	var full strings.Builder
	for i := 0; full.Len() < 1<<20; i++ {
		fmt.Fprintf(&full, "--intrinsic%d:\n", i)
	}
	begin := time.Now()
	m := marker(full.String())
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if word, _, _ := strings.Cut(m[1:], ":"); strings.Contains(full.String(), word+":") {
		t.Errorf("the script has %q", word)
	}
	for source, want := range map[string]string{
		"": "0", `\`: "1", "intrinsic0:": "1", "intrinsic0": "0", "intrinsic00:intrinsic1:": "0", "intrinsic0:intrinsic1:intrinsic3:": "2", "intrinsicintrinsic0:": "1",
	} {
		if got := marker(source); !strings.HasPrefix(got, "\x00intrinsic"+want+":") {
			t.Errorf("%q: %q, want number %s", source, got, want)
		}
	}
}
