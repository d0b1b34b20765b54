package version

import "testing"

// This program is the next release: it knows no later version, and no version after the first
// introduced anything.
func TestThisProgramKnowsTheFirstVersion(t *testing.T) {
	if Known() != First || len(since) != 0 {
		t.Errorf("it knows version %d, and %v came later", Known(), since)
	}
}

func TestVersionsAreReadFromWhatIsLinked(t *testing.T) {
	if got := parse("mark-drained=2,maxmemory=3"); len(got) != 2 || got["mark-drained"] != 2 || got["maxmemory"] != 3 {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{"mark-drained", "mark-drained=", "mark-drained=x", "mark-drained=-1"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken", bad)
				}
			}()
			parse(bad)
		}()
	}
}
