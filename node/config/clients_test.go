package config

import "testing"

func TestMaxmemoryClientsMayBeAPartOfMaxmemory(t *testing.T) {
	for _, c := range []struct {
		value           string
		maxMemory, want int64
	}{
		{"0", 0, 2 << 30},
		{"0", 1 << 30, 2 << 30},
		{"0%", 1 << 30, 2 << 30},
		{"3mb", 0, 3 << 20},
		{"3mb", 1 << 30, 3 << 20},
		{"25%", 1 << 30, 256 << 20},
		{"100%", 1 << 30, 1 << 30},
		{"25%", 0, 4 << 30},
		{"1", 0, clientsMemoryMin},
		{"1%", 1 << 20, clientsMemoryMin},
	} {
		store := Default()
		if err := store.Set([]Pair{{Name: "maxmemory-clients", Value: c.value}}); err != nil {
			t.Fatal(c.value, err)
		}
		if got := store.Current().MaxMemoryClients.Of(c.maxMemory, 16<<30); got != c.want {
			t.Errorf("%s of %d: %d, not %d", c.value, c.maxMemory, got, c.want)
		}
	}
	if got := (ClientsMemory{}).Of(0, 64<<20); got != clientsMemoryLeast {
		t.Errorf("with little memory: %d", got)
	}
}
