package hashslot

import "testing"

// B8, B19: the slot is that of the hash tag, by Redis Cluster's rule.
func TestOfFollowsRedisCluster(t *testing.T) {
	for _, c := range []struct {
		key  string
		slot int
	}{
		{"123456789", 0x31C3}, // the check value of CRC-16/XMODEM
		{"", 0},
		{"foo", 12182},
		{"{foo}bar", 12182},
		{"x{foo}{bar}", 12182},
		{"foo{}{bar}", Of([]byte("foo{}{bar}"))},
	} {
		if got := Of([]byte(c.key)); got != c.slot {
			t.Errorf("Of(%q) = %d, want %d", c.key, got, c.slot)
		}
	}
	if Of([]byte("foo{}{bar}")) == Of([]byte("bar")) {
		t.Error("an empty first tag must make the whole key count")
	}
	if Of([]byte("foo{bar")) == Of([]byte("bar")) {
		t.Error("an unclosed tag must make the whole key count")
	}
}
