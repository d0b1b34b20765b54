package hashslot

import "testing"

// The slot is that of the hash tag, by the rule of Redis Cluster (B8, B19).
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

// Eight bytes at a time give the same result as one at a time.
func TestOfIsTheCRCOfEachLength(t *testing.T) {
	key := make([]byte, 0, 64)
	for n := range 64 {
		crc := uint16(0)
		for _, b := range key {
			crc ^= uint16(b) << 8
			for range 8 {
				if carry := crc&0x8000 != 0; carry {
					crc = crc<<1 ^ 0x1021
				} else {
					crc <<= 1
				}
			}
		}
		if got := Of(key); got != int(crc)%Count {
			t.Errorf("%d bytes: %d, want %d", n, got, crc%Count)
		}
		key = append(key, byte(n*151+7))
	}
}

func BenchmarkOf(b *testing.B) {
	key := []byte("key:000000012345")
	for b.Loop() {
		Of(key)
	}
}
