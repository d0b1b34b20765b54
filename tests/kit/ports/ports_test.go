package ports

import "testing"

// Consecutive ports are free, and are given out only once.
func TestPortsInARowAreGivenOnce(t *testing.T) {
	given := map[int]bool{}
	for _, n := range []int{5, 1, 11, 1} {
		begin := Row(t, n)
		for port := begin; port < begin+n; port++ {
			if given[port] || port < first || port >= first+count {
				t.Errorf("port %d of %d from %d on", port, n, begin)
			}
			given[port] = true
			for _, p := range []int{port, port + PeerDistance} {
				if err := free(p); err != nil {
					t.Error(err)
				}
			}
		}
	}
	begin := Row(t, 3)
	before := taken[begin-1]
	if err := takeRow(begin-1, 2); err == nil || taken[begin-1] != before {
		t.Errorf("a row with a port that was given is taken, or a part of it: %v", err)
	}
}
